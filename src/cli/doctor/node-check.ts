import { steadyNow } from '../../contract/time.ts'
import type { NodeRow } from '../../database/node-table.ts'
import { readServerFacts } from '../../database/server-facts.ts'
import type { Store } from '../../store/store.ts'
import { VERSION } from '../../version.ts'
import { type Finding, ok, skipped, toWorst, warning } from './finding.ts'

/** Catalogue and kill switches are read every few seconds. */
const LAG_MS = 60_000

/** `running`: the processes that write to the audit log. Commands do so without heartbeats. */
export async function checkNodes(
  { store }: { readonly store: Store },
  running: readonly string[],
): Promise<Finding> {
  if ((await readServerFacts(store.database))?.isStandby)
    return skipped('nodes', 'Heartbeats are not replicated to a standby. Ask the primary.')
  const known = await store.nodes.list(steadyNow())
  const alive = known.filter(({ isAlive }) => isAlive)
  const silent = running.filter((owner) => !known.some((node) => node.owner === owner))
  if (alive.length + silent.length === 0) return ok('nodes', 'No server is running on this database.')
  const figures = [
    ...listVersions(alive).map(([version, processes]) => `${toCount(processes)} of ${version}`),
    ...(silent.length > 0 ? [`${toCount(silent.length)} without heartbeats (commands)`] : []),
  ]
  const text = `${figures.join(', ')}; nodes ${[...new Set(alive.map(({ node }) => node))].join(', ') || 'unknown'}.`
  return toWorst('nodes', listProblems(alive), text)
}

function listProblems(alive: readonly NodeRow[]): Finding[] {
  const versions = listVersions(alive).map(([version]) => version)
  const problems = alive
    .filter(({ lagMs }) => lagMs > LAG_MS)
    .map(
      ({ node, worker, lagMs }) =>
        `Worker ${worker} of ${node} has not read the catalogue and the kill switches for ${Math.round(lagMs / 1000)} s. See its log.`,
    )
  if (versions.length > 1)
    problems.push(`The nodes have different versions: ${versions.join(', ')}. Finish the upgrade.`)
  else if (versions.length === 1 && versions[0] !== VERSION)
    problems.push(`The nodes run ${versions[0]}, and this program is ${VERSION}. Restart the nodes.`)
  return problems.map((text) => warning('', text))
}

const listVersions = (alive: readonly NodeRow[]) =>
  Object.entries(Object.groupBy(alive, ({ version }) => version))
    .map(([version, rows = []]) => [version, rows.length] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))

const toCount = (processes: number) => `${processes} ${processes === 1 ? 'process' : 'processes'}`
