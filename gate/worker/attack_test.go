package worker

import (
	"errors"
	"os"
)

func attackerMain(args []string) int {
	err := attack(args)
	if err == nil {
		sayf("it worked")
		return 1
	}
	sayf("held: %v", err)
	return 0
}

func attack(args []string) error { return errors.New(args[0]+os.Args[0]) }
