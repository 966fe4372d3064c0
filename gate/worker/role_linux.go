package worker

// roleOfCommands is what the gate starts for commands.
const roleOfCommands = roleKeeper
