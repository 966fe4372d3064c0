package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/record"
)

// observe is what a worker finds around itself, once it is up.
func observe(profile check.Profile, gate int) []record.Layer {
	layers := []record.Layer{
		parentUnreadable(gate),
		raised(layerNoNewPrivs, demand(prctlGet(unix.PR_GET_NO_NEW_PRIVS) == 1, "the kernel does not report it"), "no program can gain privileges"),
		raised(layerSeccomp, demand(prctlGet(unix.PR_GET_SECCOMP) == 2, "the kernel reports no filter"), "filters are in force"),
		heldCapabilities(),
		raised(layerLimits, limitResources(profile), "no core files, %d descriptors", maxOpenFiles),
	}
	groups, err := os.Getgroups()
	groups = without(groups, os.Getegid())
	if err == nil && len(groups) > 0 {
		err = fmt.Errorf("only root can drop supplementary groups: those with the ids %s stay", strings.Trim(fmt.Sprint(groups), "[]"))
	}
	return append(layers, raised(layerGroups, err, "no supplementary group"))
}

func without(list []int, x int) []int {
	var out []int
	for _, e := range list {
		if e != x {
			out = append(out, e)
		}
	}
	return out
}

func demand(ok bool, otherwise string) error {
	if ok {
		return nil
	}
	return errors.New(otherwise)
}

func prctlGet(option int) int {
	v, err := unix.PrctlRetInt(option, 0, 0, 0, 0)
	if err != nil {
		return -1
	}
	return v
}

// parentUnreadable tries what an attacker would: to read the environment of
// the gate's own process.
func parentUnreadable(gate int) record.Layer {
	f, err := os.Open(fmt.Sprintf("/proc/%d/environ", gate))
	if err == nil {
		defer f.Close()
		_, err = f.Read(make([]byte, 1))
	}
	if err == nil || err == io.EOF {
		return missing(layerParent, "the gate's own process can be read through /proc")
	}
	return standing(layerParent, "the gate's own process cannot be read through /proc")
}

func heldCapabilities() record.Layer {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return missing(layerCapabilities, "they cannot be read: %v", err)
	}
	if sets[0].Permitted|sets[0].Effective|sets[1].Permitted|sets[1].Effective != 0 {
		return missing(layerCapabilities, "the worker still holds capabilities: %08x%08x", sets[1].Permitted, sets[0].Permitted)
	}
	return standing(layerCapabilities, "none, and none can be gained")
}

// limitResources sets the limits of this process and of what it starts. They
// can only become lower than they are.
func limitResources(profile check.Profile) error {
	limits := []struct {
		resource int
		name     string
		most     uint64
	}{{unix.RLIMIT_CORE, "core files", 0}, {unix.RLIMIT_NOFILE, "open files", maxOpenFiles}}
	if profile == check.Reading {
		limits = append(limits, struct {
			resource int
			name     string
			most     uint64
		}{unix.RLIMIT_DATA, "data", maxReadingMemory})
		limits = append(limits, struct {
			resource int
			name     string
			most     uint64
		}{unix.RLIMIT_FSIZE, "file size", maxFileSize})
	}
	var errs []error
	for _, l := range limits {
		var now unix.Rlimit
		err := unix.Getrlimit(l.resource, &now)
		if err == nil {
			most := min(now.Max, l.most)
			err = unix.Setrlimit(l.resource, &unix.Rlimit{Cur: most, Max: most})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("no limit on %s: %w", l.name, err))
		}
	}
	return errors.Join(errs...)
}

// seal ends the starting of processes in this one.
func seal() error { return sealFilter().install(unix.SECCOMP_FILTER_FLAG_TSYNC) }
