import type { Overview as OverviewShape } from '../../../src/admin/shapes/overview.ts'
import { toCount, toOperation, toWords } from '../format.ts'
import { toHash, toKeySearch } from '../hash.ts'
import { overviewTexts as texts } from '../texts/en/overview.ts'
import { fill } from '../texts/fill.ts'
import { Panel } from './panel.tsx'
import { Pill, toOutcomeTone } from './pill.tsx'
import { Empty } from './query-result.tsx'
import { Table } from './table.tsx'
import { When } from './when.tsx'

export function TopKeys({ overview: { keys } }: { overview: OverviewShape }) {
  return (
    <Panel title={texts.topKeys}>
      {keys.length === 0 ? (
        <Empty>
          <p>
            {fill(texts.noKey, {
              create: <a href={toHash('keys')}>{texts.createOne}</a>,
              try: <a href={toHash('try')}>{texts.tryOne}</a>,
            })}
          </p>
        </Empty>
      ) : (
        <Table
          label={texts.keysTable}
          rows={keys}
          keyOf={({ id }) => id}
          columns={[
            { title: texts.key, cell: ({ name, id }) => <NamedKey name={name} id={id} /> },
            {
              title: texts.mode,
              cell: ({ mode }) => <Pill tone={mode === 'live' ? 'live' : 'dim'}>{mode}</Pill>,
            },
            {
              title: texts.tiles.verifications,
              cell: ({ verifications }) => toCount(verifications),
              isNumber: true,
            },
            { title: texts.failed, cell: ({ failed }) => toCount(failed), isNumber: true },
          ]}
        />
      )}
    </Panel>
  )
}

function NamedKey({ name, id }: { name: string; id: string }) {
  return (
    <>
      <a href={toHash('audit', toKeySearch(id))}>{name}</a>
      <br />
      <code>{id}</code>
    </>
  )
}

export function BySource({ overview: { by_source } }: { overview: OverviewShape }) {
  return (
    <Panel title={texts.bySource}>
      {by_source.length === 0 ? (
        <Empty>
          <p>{texts.noSource}</p>
        </Empty>
      ) : (
        <Table
          label={texts.bySource}
          rows={by_source}
          keyOf={({ source }) => source}
          columns={[
            { title: texts.source, cell: ({ source }) => source },
            {
              title: texts.tiles.verifications,
              cell: ({ verifications }) => toCount(verifications),
              isNumber: true,
            },
          ]}
        />
      )}
    </Panel>
  )
}

export function LastErrors({ errors }: { errors: OverviewShape['errors'] }) {
  return (
    <Panel title={texts.lastErrors}>
      {errors.length === 0 ? (
        <Empty>
          <p>{texts.noErrors}</p>
        </Empty>
      ) : (
        <Table
          label={texts.lastErrors}
          rows={errors}
          keyOf={({ at, operation, outcome, key_id, reference }) =>
            [at, operation, outcome, key_id, reference].join(' ')
          }
          columns={[
            { title: texts.last, cell: ({ at }) => <When at={at} to="second" /> },
            {
              title: texts.outcome,
              cell: ({ outcome, count }) => (
                <span class="nowrap">
                  <Pill tone={toOutcomeTone(outcome)}>{toWords(outcome)}</Pill>
                  {count > 1 && <b> ×{toCount(count)}</b>}
                </span>
              ),
            },
            {
              title: texts.operation,
              cell: ({ operation }) => <span class="nowrap">{toOperation(operation)}</span>,
            },
            { title: texts.key, cell: ({ key_id }) => (key_id === null ? '–' : <code>{key_id}</code>) },
            {
              title: texts.timeline,
              cell: ({ reference }) =>
                reference === null ? (
                  '–'
                ) : (
                  <a href={toHash('audit', reference)}>
                    <code class="clip">{reference}</code>
                  </a>
                ),
            },
          ]}
        />
      )}
    </Panel>
  )
}
