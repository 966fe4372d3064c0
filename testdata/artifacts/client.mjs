// GitHub's own client of artifacts, as a program.
//
//   node client.mjs TOOLS ANSWER upload NAME FOLDER
//   node client.mjs TOOLS ANSWER download ID FOLDER DIGEST
//   node client.mjs TOOLS ANSWER list
//
// TOOLS is the folder that scripts/actions-tools prints. What the client gives back
// is written to the file ANSWER, for on standard output it talks to a runner. An
// error ends the program with its message and status 1.
import {webcrypto} from 'node:crypto'
import {readdirSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {pathToFileURL} from 'node:url'

// Node 18, which Debian 12 and Ubuntu 24.04 have, does not have it everywhere.
globalThis.crypto ??= webcrypto

const [tools, answer, command, ...args] = process.argv.slice(2)
const library = join(tools, 'node_modules', '@actions', 'artifact', 'lib', 'artifact.js')
const {DefaultArtifactClient} = await import(pathToFileURL(library).href)
const client = new DefaultArtifactClient()

const commands = {
  upload: (name, folder) => {
    const files = readdirSync(folder, {recursive: true, withFileTypes: true}).filter(e => e.isFile())
    return client.uploadArtifact(name, files.map(e => join(e.parentPath ?? e.path, e.name)), folder)
  },
  download: (id, folder, digest) => client.downloadArtifact(Number(id), {path: folder, expectedHash: digest}),
  list: () => client.listArtifacts(),
}

try {
  writeFileSync(answer, JSON.stringify(await commands[command](...args)))
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
