import type { AuditLine, Story } from '../../../src/admin/shapes/audit.ts'
import { toMs, toOperation, toWords } from '../format.ts'
import { toHash } from '../route.ts'
import { useAnswer } from '../use-answer.ts'
import { Facts, Panel, Pill, toOutcomeTone, When } from './pieces.tsx'
import { Empty, Shown } from './states.tsx'

/** One verification from its intent to its outcome, and every time it was answered again. */
export function AuditStory({ reference }: { reference: string }) {
  const answer = useAnswer<Story>(`/admin/audit/stories/${encodeURIComponent(reference)}`)
  return (
    <>
      <p>
        <a href={toHash('audit')}>← All of the audit</a>
      </p>
      <Panel title="The story of one verification">
        <p>
          <code class="breaks">{reference}</code>
        </p>
        <Shown answer={answer}>
          {({ rows }) =>
            rows.length === 0 ? (
              <Empty>
                <p>Nothing in the log has this reference.</p>
              </Empty>
            ) : (
              <ol class="timeline">
                {rows.map((row) => (
                  <Moment key={`${row.chain} ${row.sequence}`} row={row} />
                ))}
              </ol>
            )
          }
        </Shown>
      </Panel>
    </>
  )
}

const PHASES: Readonly<Record<string, string>> = {
  intent: 'Asked for',
  outcome: 'Answered',
  replay: 'Answered again',
}

function Moment({ row }: { row: AuditLine }) {
  const { phase, outcome, tried } = row
  return (
    <li>
      <div class="bar">
        <h3>{PHASES[phase] ?? toWords(phase)}</h3>
        {outcome !== null && <Pill tone={toOutcomeTone(outcome)}>{toWords(outcome)}</Pill>}
        <span class="dim push">
          <When at={row.time} isExact />
        </span>
      </div>
      {tried.length > 0 && (
        <ol class="tried" aria-label="Sources that were asked, in order">
          {tried.map(({ name, result, ms }, index) => (
            <li key={index}>
              <b>{name}</b> <span>{toWords(result)}</span> <span class="dim">{toMs(ms)}</span>
            </li>
          ))}
        </ol>
      )}
      <Facts facts={toFacts(row)} />
    </li>
  )
}

function toFacts(row: AuditLine) {
  const facts: readonly (readonly [string, string | null])[] = [
    ['Operation', row.operation === null ? null : toOperation(row.operation)],
    ['Mode', row.mode],
    ['Key', row.key_id],
    ['Amount', row.amount],
    ['Consent', row.consent_reference],
    ['Fields released', row.fields_released?.replaceAll(',', ', ') ?? null],
    ['Detail', row.detail],
    ['Row', `${row.sequence} of chain ${row.chain}`],
    ['Hash', row.hash],
  ]
  return facts.flatMap(([name, value]) => (value === null || value === '' ? [] : [[name, value] as const]))
}
