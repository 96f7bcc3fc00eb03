import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * Checks deploy/kubernetes against the schemas of the Kubernetes API. npm fetches the schemas (26 MB) for this run: too much for
 * a development dependency.
 * npm run battery:manifests
 */
const PACKAGES = ['kubernetes-models@5.1.0', 'yaml@2.9.1']

const SCRIPT = `
import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'

let faults = 0
for (const document of parseAllDocuments(readFileSync(process.argv[2], 'utf8'))) {
  const manifest = document.toJS()
  const { [manifest.kind]: Model } = await import(\`kubernetes-models/\${manifest.apiVersion}/\${manifest.kind}\`)
  try {
    if (document.errors.length > 0) throw document.errors[0]
    new Model(manifest).validate()
    console.log(\`\${manifest.kind} \${manifest.metadata.name}: valid\`)
  } catch (error) {
    faults += 1
    console.log(\`\${manifest.kind} \${manifest.metadata.name}: \${error.message}\`)
  }
}
process.exitCode = faults === 0 ? 0 : 1
`

const folder = mkdtempSync(join(tmpdir(), 'tabbat-manifests-'))
try {
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  writeFileSync(join(folder, 'check.mjs'), SCRIPT)
  execFileSync('npm', ['install', '--ignore-scripts', '--no-save', ...PACKAGES], {
    cwd: folder,
    stdio: 'ignore',
  })
  execFileSync(process.execPath, ['check.mjs', resolve('deploy/kubernetes/tabbat.yaml')], {
    cwd: folder,
    stdio: 'inherit',
  })
} catch (error) {
  console.log(`The manifests are not valid, or the schemas could not be fetched: ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
