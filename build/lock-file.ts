import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const LOCK = new URL('../package-lock.json', import.meta.url)

/**
 * Removes the engines of dependencies from the lock file. npm compares them with the Node.js that runs npm, and would print
 * five lines for every package that needs a newer one. But Tabbat and its tools run on the Node.js that npm installs.
 */
function removeEngines(): void {
  const before = readFileSync(LOCK, 'utf8')
  const lock = JSON.parse(before) as { readonly packages: Readonly<Record<string, { engines?: object }>> }
  for (const [path, entry] of Object.entries(lock.packages))
    if (path.startsWith('node_modules/')) delete entry.engines
  const after = `${JSON.stringify(lock, null, 2)}\n`
  if (after !== before) writeFileSync(LOCK, after)
}

if (existsSync(LOCK)) removeEngines()
