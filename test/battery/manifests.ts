import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * Checks deploy/kubernetes against the schemas of the Kubernetes API, and that the other YAML files can be read. npm fetches the
 * schemas (26 MB) for this run: too much for a development dependency. They do not find fields that do not exist.
 * npm run battery:manifests
 */
const PACKAGES = ['kubernetes-models@5.1.0', 'yaml@2.9.1']
const FILES = ['deploy/kubernetes/tabbat.yaml', 'deploy/compose.yaml', 'deploy/patroni/patroni.yaml']

const SCRIPT = `
import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'

for (const file of process.argv.slice(2))
  for (const document of parseAllDocuments(readFileSync(file, 'utf8'), { merge: true })) {
    if (document.errors.length > 0) throw document.errors[0]
    const { apiVersion, kind, ...rest } = document.toJS()
    if (kind === undefined) {
      console.log(file + ' can be read')
      continue
    }
    const { [kind]: Model } = await import('kubernetes-models/' + apiVersion + '/' + kind)
    new Model(rest).validate()
    console.log(kind + ' ' + rest.metadata.name + ' is valid')
  }
`

const folder = mkdtempSync(join(tmpdir(), 'tabbat-manifests-'))
const options = { cwd: folder, stdio: 'inherit' } as const
try {
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  writeFileSync(join(folder, 'check.mjs'), SCRIPT)
  execFileSync('npm', ['install', '--ignore-scripts', '--no-save', '--silent', ...PACKAGES], options)
  execFileSync(process.execPath, ['check.mjs', ...FILES.map((file) => resolve(file))], options)
} catch (error) {
  console.log(`Not valid, or the schemas could not be fetched: ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
