import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { TryForm, TryForms, TryResult } from '../../../../src/admin/try.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Facts } from '../../components/facts.tsx'
import { SecretField, Segments, SelectField, TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill, type Tone } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { toLabel, toMs, toOperation } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import { type Call, toCurl, toPython, toTypeScript } from './examples.ts'

export function TryIt() {
  const query = useQuery<TryForms>('/admin/try')
  return <QueryResult query={query}>{(forms) => <Operations forms={forms} />}</QueryResult>
}

function Operations({ forms }: { forms: TryForms }) {
  const [name, setName] = useState(forms.operations[0]?.operation ?? '')
  const [key, setKey] = useState('')
  const form = forms.operations.find(({ operation }) => operation === name)
  if (!form) return <Empty>There are no operations.</Empty>
  return (
    <>
      <fieldset class="tabs">
        <legend class="visually-hidden">Operation</legend>
        {forms.operations.map(({ operation }) => (
          <button
            key={operation}
            type="button"
            class="plain"
            aria-pressed={operation === name}
            onClick={() => setName(operation)}
          >
            {toOperation(operation)}
          </button>
        ))}
      </fieldset>
      <OperationForm key={name} form={form} forms={forms} apiKey={key} onKey={setKey} />
    </>
  )
}

type OperationFormProps = {
  readonly form: TryForm
  readonly forms: TryForms
  readonly apiKey: string
  readonly onKey: (key: string) => void
}

type Input = Readonly<Record<string, string>>

function OperationForm({ form, forms, apiKey, onKey }: OperationFormProps) {
  const { api } = useAppContext()
  const [input, setInput] = useState<Input>(form.scenarios[0]?.input ?? {})
  const [result, setResult] = useState<TryResult>()
  const responseBox = useRef<HTMLDivElement>(null)
  const send = useMutation(async (values: Input) => {
    const key = apiKey.trim()
    setResult(undefined)
    // On a phone the response is below the form.
    responseBox.current?.scrollIntoView({ block: 'nearest' })
    setResult(
      await api.post<TryResult>('/admin/try', {
        operation: form.operation,
        input: values,
        ...(key === '' ? {} : { key }),
      }),
    )
  })
  return (
    <div class="trial">
      <div>
        <Panel title={form.summary}>
          <p class="dim">{toInlineCode(form.description)}</p>
          <Scenarios form={form} input={input} onInput={setInput} />
          <form
            onSubmit={(event) => {
              event.preventDefault()
              send.run(input)
            }}
          >
            <Fields form={form} input={input} onInput={setInput} errors={send.error?.fields ?? {}} />
            <KeyField apiKey={apiKey} onKey={onKey} hasSandbox={forms.sandbox_key !== null} />
            <ErrorNote error={send.error} />
            <SendButton isBusy={send.isBusy} isReady={forms.sandbox_key !== null || apiKey.trim() !== ''} />
          </form>
        </Panel>
      </div>
      <div ref={responseBox}>
        <Panel title="Response">
          {send.isBusy && <progress aria-label="Waiting for the response" />}
          {result && <TryResponse result={result} />}
          {!result && !send.isBusy && <Empty>The response appears here.</Empty>}
        </Panel>
      </div>
      <div>
        <Panel title="Code examples">
          <TryExamples form={form} input={input} baseUrl={forms.base_url} {...toExampleKey(forms, apiKey)} />
        </Panel>
      </div>
    </div>
  )
}

/** Examples contain only the public sandbox key. */
const toExampleKey = ({ sandbox_key }: TryForms, entered: string) =>
  sandbox_key !== null && (entered.trim() === '' || entered.trim() === sandbox_key)
    ? { publicKey: sandbox_key }
    : {}

type FormProps = {
  readonly form: TryForm
  readonly input: Input
  readonly onInput: (input: Input) => void
}

type Scenario = TryForm['scenarios'][number]

function Scenarios({ form, input, onInput }: FormProps) {
  if (form.scenarios.length === 0) return null
  const isChosen = (values: Input) =>
    form.fields.every(({ name }) => (values[name] ?? '') === (input[name] ?? ''))
  return (
    <fieldset class="chips">
      <legend class="visually-hidden">Sandbox scenarios</legend>
      {form.scenarios.map((scenario) => (
        <button
          key={scenario.title}
          type="button"
          class="chip"
          title={scenario.title}
          aria-pressed={isChosen(scenario.input)}
          onClick={() => onInput(scenario.input)}
        >
          {toChipText(scenario, form.scenarios)}
        </button>
      ))}
    </fieldset>
  )
}

/** `Not verified: not_verified.` becomes `Not verified`; the tooltip has the whole title. */
const toShort = (title: string) => title.replace(/:.*$|\.$/s, '')

/** The short title, or what follows the code if two have the same: `Pending. Verified after 5 seconds`. */
function toChipText({ title }: Scenario, all: readonly Scenario[]): string {
  const short = toShort(title)
  const isUnique = all.every((other) => other.title === title || toShort(other.title) !== short)
  return isUnique ? short : title.replace(/:[^.]*/, '').replace(/\.$/, '')
}

function Fields({ form, input, onInput, errors }: FormProps & { errors: Readonly<Record<string, string>> }) {
  return (
    <>
      {form.fields.map(({ name, description, example, required, choices }) => {
        const common = {
          label: required ? name : `${name} (optional)`,
          help: toInlineCode(description),
          value: input[name] ?? '',
          onValue: (value: string) => onInput({ ...input, [name]: value }),
          error: errors[`input.${name}`],
        }
        if (choices === null)
          return <TextField key={name} {...common} placeholder={example} autocomplete="off" maxLength={200} />
        const options = choices.map((choice) => ({ value: choice, text: choice }))
        return <SelectField key={name} {...common} options={[{ value: '', text: 'Choose…' }, ...options]} />
      })}
    </>
  )
}

type KeyFieldProps = {
  readonly apiKey: string
  readonly onKey: (key: string) => void
  readonly hasSandbox: boolean
}

function KeyField({ apiKey, onKey, hasSandbox }: KeyFieldProps) {
  const isLive = apiKey.trim().startsWith('tbt_live_')
  return (
    <>
      <SecretField
        label="API key"
        value={apiKey}
        onValue={onKey}
        placeholder={hasSandbox ? 'The public sandbox key' : 'tbt_test_…'}
        help={
          hasSandbox
            ? 'If empty, the public sandbox key is used. A key that you enter stays in this page.'
            : 'This server does not accept the public sandbox key. Enter a test key. It stays in this page.'
        }
        maxLength={200}
      />
      {isLive && (
        <p class="note warn" role="alert">
          This is a live key. The call is about a real person, may be billed, and is written to the audit log.
        </p>
      )}
    </>
  )
}

function SendButton({ isBusy, isReady }: { isBusy: boolean; isReady: boolean }) {
  const isOperator = useHasRole('operator')
  if (!isOperator) return <p class="dim">Your role shows the forms only. Sending needs the role operator.</p>
  return (
    <SubmitButton isBusy={isBusy} isDisabled={!isReady}>
      Send
    </SubmitButton>
  )
}

const LANGUAGES = [
  { value: 'curl', text: 'curl' },
  { value: 'typescript', text: 'TypeScript' },
  { value: 'python', text: 'Python' },
] as const
type Language = (typeof LANGUAGES)[number]['value']

const FORMATTERS: Readonly<Record<Language, (call: Call) => string>> = {
  curl: toCurl,
  typescript: toTypeScript,
  python: toPython,
}

function TryExamples(call: Call) {
  const [language, setLanguage] = useState<Language>('curl')
  return (
    <>
      <Segments legend="Language" value={language} options={LANGUAGES} onValue={setLanguage} />
      {call.publicKey === undefined && (
        <p class="dim">
          The example reads the key from <code>TABBAT_KEY</code>. The key you entered is not shown.
        </p>
      )}
      <CodeBlock text={FORMATTERS[language](call)} what={`the call in ${language}`} />
    </>
  )
}

/** Words between backticks, as in the descriptions of the API, become code. */
const toInlineCode = (text: string): ComponentChildren =>
  text.split('`').map((piece, index) => (index % 2 === 0 ? piece : <code key={piece}>{piece}</code>))

type Body = { readonly [name: string]: unknown }

const isBody = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const VIEWS = [
  { value: 'card', text: 'Card' },
  { value: 'json', text: 'JSON' },
] as const

function TryResponse({ result }: { result: TryResult }) {
  const [view, setView] = useState<'card' | 'json'>('card')
  const { status, mode, ms, body } = result
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
    </div>
  )
}

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
