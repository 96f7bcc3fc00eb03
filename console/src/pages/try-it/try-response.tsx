import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { TryResult } from '../../../../src/admin/try.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { Segments } from '../../components/field.tsx'
import { LinkedText } from '../../components/object-page.tsx'
import { Pill, type Tone } from '../../components/pill.tsx'
import { Table } from '../../components/table.tsx'
import { toLabel, toMs } from '../../format.ts'
import { toHash } from '../../hash.ts'

type Body = { readonly [name: string]: unknown }

const isBody = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const VIEWS = [
  { value: 'card', text: 'Card' },
  { value: 'json', text: 'JSON' },
] as const

export function TryResponse({ result }: { result: TryResult }) {
  const [view, setView] = useState<'card' | 'json'>('card')
  const { status, mode, ms, headers, body } = result
  return (
    <div role="status">
      <div class="bar">
        <Pill tone={toTone(status)}>{status}</Pill>
        {mode && <Pill tone={mode === 'live' ? 'live' : 'dim'}>{mode}</Pill>}
        <span class="dim">{toMs(ms)}</span>
        <span class="push">
          <Segments legend="View" value={view} options={VIEWS} onValue={setView} />
        </span>
      </div>
      {view === 'card' ? (
        <Card body={body} />
      ) : (
        <CodeBlock text={JSON.stringify(body, null, 2)} what="the response as JSON" />
      )}
      <h3>Headers</h3>
      <Facts
        facts={HEADERS.flatMap((name) => {
          const value = headers[name.toLowerCase()]
          return value === undefined ? [] : [[name, <LinkedText key={name} text={value} />] as const]
        })}
      />
    </div>
  )
}

/** What they say is not in the body. */
const HEADERS = [
  'Tabbat-Match',
  'Idempotent-Replayed',
  'Preference-Applied',
  'Location',
  'Retry-After',
  'X-Request-Id',
]

function toTone(status: number): Tone {
  if (status < 300) return 'good'
  return status < 500 ? 'warn' : 'bad'
}

function Card({ body }: { body: unknown }) {
  if (!isBody(body)) return <p>The response has no body.</p>
  const { message, code, errors } = body
  const data = findData(body)
  const picture = isBody(data) && isBody(data.personal_info) ? data.personal_info.image_url : undefined
  return (
    <>
      {typeof message === 'string' && <p class="lead">{message}</p>}
      {typeof code === 'string' && (
        <p>
          Code <code>{code}</code>
        </p>
      )}
      {isBody(errors) && (
        <Facts facts={Object.entries(errors).map(([name, why]) => [name, toText(why)] as const)} />
      )}
      {isBody(data) && <Groups data={data} picture={picture} />}
      {Array.isArray(data) && <Items items={data.filter(isBody)} />}
    </>
  )
}

/** Lists of bundles are nested one level deeper than records. */
function findData({ data }: Body): unknown {
  return isBody(data) && Array.isArray(data.data) ? data.data : data
}

function Groups({ data, picture }: { data: Body; picture: unknown }) {
  const entries = Object.entries(data)
  const own = entries.filter(([, value]) => !isBody(value))
  const groups = entries.filter((entry): entry is [string, Body] => isBody(entry[1]))
  return (
    <>
      <Picture address={picture} />
      <Facts facts={own.map(([name, value]) => [toLabel(name), toValue(name, value)] as const)} />
      {groups.map(([name, group]) => (
        <section key={name}>
          <h3>{toLabel(name)}</h3>
          <Facts
            facts={Object.entries(group).map(
              ([field, value]) => [toLabel(field), toValue(field, value)] as const,
            )}
          />
        </section>
      ))}
    </>
  )
}

function toValue(name: string, value: unknown): ComponentChildren {
  const text = toText(value)
  if (name === 'request_reference' && text !== '')
    return (
      <a href={toHash('audit', text)} class="breaks">
        {text}
      </a>
    )
  if (name === 'image_url' && /^https?:\/\//.test(text))
    return (
      <a href={text} target="_blank" rel="noopener noreferrer" class="breaks">
        {text}
      </a>
    )
  return text
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(toText).join(' ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Pictures of other hosts are not loaded: the page contacts only its own server. */
function Picture({ address }: { address: unknown }) {
  if (typeof address !== 'string' || !URL.canParse(address, location.href)) return null
  const { origin, href } = new URL(address, location.href)
  if (address === '' || origin !== location.origin) return null
  return <img class="portrait" src={href} alt="Portrait from the record" width={96} height={112} />
}

function Items({ items }: { items: readonly Body[] }) {
  const names = Object.keys(items[0] ?? {})
  if (names.length === 0) return <p>The list is empty.</p>
  return (
    <Table
      label="Items"
      file="items"
      rows={items.map((item, index) => ({ item, index }))}
      keyOf={({ index }) => index}
      columns={names.map((name) => ({
        title: toLabel(name),
        cell: ({ item }: { item: Body; index: number }) => toText(item[name]),
        isNumber: name === 'price' || name === 'amount',
      }))}
    />
  )
}
