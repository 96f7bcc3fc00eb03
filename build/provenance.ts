import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './bundle.ts'
import type { Python } from './clients.ts'
import { type NodePackage, toSha256 } from './node-binary.ts'

const DOCS = 'https://github.com/tabbat/tabbat/blob/main/docs/releases.md'

export type Release = {
  readonly commit: string
  readonly targets: readonly string[]
  /** The Node.js inside the executables. */
  readonly nodes: readonly NodePackage[]
  /** That made the package for Python. */
  readonly python: Python
  readonly outputs: readonly { readonly name: string; readonly sha256: string }[]
}

/**
 * From what and how the files were made, in the form of in-toto and SLSA. It is the builder's own word. It has no time and no name
 * of a machine: a second build gives the same bytes.
 */
export function toProvenance({ commit, targets, nodes, python, outputs }: Release): string {
  const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    repository: { url: string }
  }
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: outputs.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${DOCS}#make-a-release`,
        externalParameters: { targets },
        internalParameters: {
          commands: [
            'npm ci --ignore-scripts',
            `npm run build:release -- ${targets.map((target) => `--target ${target}`).join(' ')}`,
          ],
          platform: `${process.platform}-${process.arch}`,
          node: process.versions.node,
          npm: readVersion('npm'),
          git: readVersion('git'),
          ...python.versions,
        },
        resolvedDependencies: [
          { uri: `${repository.url}@${commit}`, digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: hashFile('package-lock.json') } },
          {
            name: 'the Node.js that ran the build',
            digest: { sha256: toSha256(readFileSync(process.execPath)) },
          },
          ...nodes.map(toDependency),
        ],
      },
      runDetails: { builder: { id: `${DOCS}#who-built-it` } },
    },
  }
  return `${JSON.stringify(statement, undefined, 2)}\n`
}

const readVersion = (program: string) =>
  /[0-9][0-9.]*/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[0]

const hashFile = (path: string) => toSha256(readFileSync(join(ROOT, path)))

const toDependency = ({ name, version, seen }: NodePackage) => ({
  uri: `pkg:npm/${name}@${version}`,
  name: 'bin/node',
  digest: { sha256: seen['bin/node'] },
})
