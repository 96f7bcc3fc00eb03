import type { Config } from '../context/config.ts'
import type { Store } from '../context/store.ts'
import { listEmptyRegistries } from '../registry/empty-registry.ts'
import type { GuardFigures } from '../sources/guard/call-guard.ts'
import { readSourceReports, type SourceReport } from '../sources/source-control.ts'
import { type Finding, type FindingPart, failedAbout, toWorst, warningAbout } from './finding.ts'

type Opened = { readonly config: Config; readonly store: Store }

const NEAR_CAP = 0.8

/** As running servers reported them: no vendor is called. */
export async function checkSources({ store, config }: Opened): Promise<Finding> {
  const check = 'sources'
  const reports = await readSourceReports(store, config)
  const empty = (await listEmptyRegistries(store, config)).map(({ kind, text }) =>
    warningAbout(`${kind} records`, text),
  )
  if (reports.length === 0) return toWorst(check, empty, 'No vendor is configured.')
  const findings = [...listUnanswered(reports, config), ...reports.flatMap(listSourceProblems), ...empty]
  const names = [...new Set(reports.map(({ source }) => source))].join(', ')
  return toWorst(check, findings, `${names}: no problems reported. To call one: tabbat sources check NAME`)
}

/** The operations that no source answers, on all nodes or on some. One vendor that fails does so on all. */
function listUnanswered(reports: readonly SourceReport[], config: Config): FindingPart[] {
  const isUsed = ({ figures, operation }: SourceReport) =>
    figures !== null && !config[operation === 'verify_nin' ? 'ninSources' : 'bvnSources'].includes('registry')
  const operations = Map.groupBy(reports.filter(isUsed), ({ operation }) => operation)
  return [...operations].flatMap(([operation, list]) => {
    const nodes = [...Map.groupBy(list, ({ node }) => node)]
    const silent = nodes.filter(([, ofNode]) =>
      ofNode.every(({ disabled, figures }) => disabled || figures?.down),
    )
    if (silent.length === 0) return []
    const where = silent.length === nodes.length ? '' : ` on ${silent.map(([node]) => node).join(', ')}`
    const names = new Set(
      silent.flatMap(([, ofNode]) =>
        ofNode.map(({ source, disabled }) => (disabled ? `${source} (disabled)` : source)),
      ),
    )
    const text = `${operation} gets no answers${where}: ${[...names].join(', ')}. Callers get 502, 503 or 504. Ask the vendor, or add another source. See: tabbat sources status`
    return [failedAbout(operation, text)]
  })
}

function listSourceProblems({
  source,
  operation,
  disabled,
  figures,
  capKobo,
  spentKoboToday,
}: SourceReport): FindingPart[] {
  const name = `${source} (${operation})`
  if (disabled) return [warningAbout(`${name} disabled`, `${name} is disabled.`)]
  const problems = (figures?.warnings ?? []).map((reason) =>
    warningAbout(`${name} ${reason}`, `${name} has the warning ${reason}.`),
  )
  if (figures?.down) problems.push(warningAbout(`${name} down`, toDownText(name, figures)))
  if (capKobo !== null && spentKoboToday >= NEAR_CAP * capKobo)
    problems.push(
      warningAbout(
        `${name} cap`,
        `${name} has used ${Math.round((100 * spentKoboToday) / capKobo)} % of its daily cap.`,
      ),
    )
  return problems
}

function toDownText(name: string, { unanswered, unansweredRate, lastSuccessAt }: GuardFigures): string {
  const share = `${Math.round(100 * unansweredRate)} %`
  const last =
    lastSuccessAt === null ? 'It has not answered since the start.' : `Last answer: ${lastSuccessAt}.`
  return unanswered === 0
    ? `${name} failed, and was not needed in the last five minutes. ${last}`
    : `${name} does not answer: ${unanswered} requests of the last five minutes (${share}) failed or were not sent. ${last}`
}
