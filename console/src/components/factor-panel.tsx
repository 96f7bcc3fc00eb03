import { useEffect, useState } from 'preact/hooks'
import type { FactorList, Passkey, RecoveryCodes, TotpSetup } from '../../../src/admin/second-factors.ts'
import { useAppContext, useSecretEnd } from '../app-context.ts'
import { createPasskey, hasPasskeys } from '../passkey.ts'
import { useMutation } from '../use-mutation.ts'
import { useQuery } from '../use-query.ts'
import { CodeBlock } from './copy.tsx'
import { Confirm } from './dialog.tsx'
import { Facts } from './facts.tsx'
import { TextField } from './field.tsx'
import { Panel } from './panel.tsx'
import { Loading, QueryResult } from './query-result.tsx'
import { ShownOnce } from './shown-once.tsx'
import { Table } from './table.tsx'
import { When } from './when.tsx'

type Open =
  | { readonly what: 'setup' | 'remove' | 'renew' | 'add' }
  | { readonly what: 'removePasskey'; readonly passkey: Passkey }
  | { readonly what: 'codes'; readonly codes: readonly string[] }

/** The second factors of the signed-in account. `onChange` is called when one was added or removed. */
export function FactorPanel({ onChange }: { onChange: () => void }) {
  const query = useQuery<FactorList>('/admin/session/factors')
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const done = () => {
    close()
    query.reload()
    onChange()
  }
  const showCodes = (codes: readonly string[]) => {
    if (codes.length === 0) return done()
    setOpen({ what: 'codes', codes })
    query.reload()
  }
  return (
    <Panel title="Second factor">
      <p class="dim">
        With a second factor, the password alone no longer signs in. Use an authenticator app such as Aegis,
        1Password or Google Authenticator, or passkeys.
      </p>
      <QueryResult query={query} lines={2}>
        {(factors) => <Factors factors={factors} onOpen={setOpen} />}
      </QueryResult>
      {open?.what === 'setup' && <TotpDialog onClose={close} onDone={showCodes} />}
      {open?.what === 'remove' && <RemoveTotp onClose={close} onDone={done} />}
      {open?.what === 'add' && <AddPasskey onClose={close} onDone={showCodes} />}
      {open?.what === 'removePasskey' && (
        <RemovePasskey passkey={open.passkey} onClose={close} onDone={done} />
      )}
      {open?.what === 'renew' && <RenewCodes onClose={close} onDone={showCodes} />}
      {open?.what === 'codes' && (
        <ShownOnce title="Recovery codes" what="Recovery codes" text={open.codes.join('\n')} onClose={done}>
          Each of these codes signs you in once, with your password, if you lose the second factor. They are
          not shown again: print them, or keep them in a password manager.
        </ShownOnce>
      )}
    </Panel>
  )
}

type FactorsProps = {
  readonly factors: FactorList
  readonly onOpen: (open: Open) => void
}

function Factors({ factors, onOpen }: FactorsProps) {
  const { totp_since, passkeys, recovery_codes } = factors
  const hasAny = totp_since !== null || passkeys.length > 0
  return (
    <>
      {!hasAny && <p>Your account has no second factor.</p>}
      <Facts
        facts={[
          [
            'Authenticator app',
            totp_since === null ? (
              'not set up'
            ) : (
              <>
                set up <When at={totp_since} />
              </>
            ),
          ],
          ...(hasAny ? [['Recovery codes', `${recovery_codes} left`] as const] : []),
        ]}
      />
      <span class="actions">
        {totp_since === null ? (
          <button type="button" class="main" onClick={() => onOpen({ what: 'setup' })}>
            Set up an authenticator app
          </button>
        ) : (
          <button type="button" onClick={() => onOpen({ what: 'remove' })}>
            Remove the authenticator app
          </button>
        )}
        {hasAny && (
          <button type="button" onClick={() => onOpen({ what: 'renew' })}>
            Make new recovery codes
          </button>
        )}
      </span>
      <PasskeyList
        passkeys={passkeys}
        onAdd={() => onOpen({ what: 'add' })}
        onRemove={(passkey) => onOpen({ what: 'removePasskey', passkey })}
      />
    </>
  )
}

function RemoveTotp({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post('/admin/session/factors/totp/remove')
    onDone()
  })
  return (
    <Confirm
      title="Remove the authenticator app?"
      verb="Remove"
      mutation={mutation}
      onClose={onClose}
      isDanger
    >
      <p>You then sign in without its codes.</p>
    </Confirm>
  )
}

type RenewProps = { readonly onClose: () => void; readonly onDone: (codes: readonly string[]) => void }

function RenewCodes({ onClose, onDone }: RenewProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () =>
    onDone((await api.post<RecoveryCodes>('/admin/session/factors/recovery-codes')).recovery_codes),
  )
  return (
    <Confirm
      title="Make new recovery codes?"
      verb="Make new recovery codes"
      mutation={mutation}
      onClose={onClose}
    >
      <p>The earlier ones no longer work.</p>
    </Confirm>
  )
}

type PasskeyListProps = {
  readonly passkeys: readonly Passkey[]
  readonly onRemove: (passkey: Passkey) => void
  readonly onAdd: () => void
}

function PasskeyList({ passkeys, onRemove, onAdd }: PasskeyListProps) {
  return (
    <>
      <h3>Passkeys</h3>
      <p class="dim">
        A passkey signs in without a password: with the fingerprint, face or PIN of a device, or with a
        security key.
      </p>
      {passkeys.length === 0 ? (
        <p>Your account has no passkey.</p>
      ) : (
        <PasskeyTable passkeys={passkeys} onRemove={onRemove} />
      )}
      {hasPasskeys() ? (
        <button type="button" onClick={onAdd}>
          Add a passkey
        </button>
      ) : (
        <p class="dim">
          This browser offers passkeys only over https or at http://localhost, and not for an IP address.
        </p>
      )}
    </>
  )
}

function PasskeyTable({ passkeys, onRemove }: Omit<PasskeyListProps, 'onAdd'>) {
  return (
    <Table
      label="Passkeys"
      file="passkeys"
      rows={passkeys}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Name', cell: ({ name }) => <b class="breaks">{name}</b> },
        { title: 'For', cell: ({ host }) => host },
        { title: 'Added', cell: ({ created_at }) => <When at={created_at} /> },
        { title: 'Last used', cell: ({ last_used_at }) => <When at={last_used_at} otherwise="never" /> },
        {
          title: '',
          cell: (passkey) => (
            <button
              type="button"
              class="small"
              aria-label={`Remove the passkey ${passkey.name}`}
              onClick={() => onRemove(passkey)}
            >
              Remove
            </button>
          ),
        },
      ]}
    />
  )
}

type AddProps = { readonly onClose: () => void; readonly onDone: (codes: readonly string[]) => void }

function AddPasskey({ onClose, onDone }: AddProps) {
  const { api } = useAppContext()
  const [name, setName] = useState('')
  const add = useMutation(async () => {
    const response = await createPasskey(api)
    const body = { name: name.trim(), response }
    onDone((await api.post<RecoveryCodes>('/admin/session/factors/passkeys/add', body)).recovery_codes)
  })
  return (
    <Confirm title="Add a passkey" verb="Add a passkey" mutation={add} onClose={onClose}>
      <TextField
        label="Name"
        help="To tell your passkeys apart, for example: work laptop."
        value={name}
        onValue={setName}
        maxLength={60}
        required
      />
    </Confirm>
  )
}

type RemoveProps = { readonly passkey: Passkey; readonly onClose: () => void; readonly onDone: () => void }

function RemovePasskey({ passkey, onClose, onDone }: RemoveProps) {
  const { api } = useAppContext()
  const remove = useMutation(async () => {
    await api.post('/admin/session/factors/passkeys/remove', { id: passkey.id })
    onDone()
  })
  return (
    <Confirm
      title={`Remove the passkey ${passkey.name}?`}
      verb="Remove"
      mutation={remove}
      onClose={onClose}
      isDanger
    >
      <p>It no longer signs in. Delete it on the device too.</p>
    </Confirm>
  )
}

type TotpDialogProps = {
  readonly onClose: () => void
  /** With the recovery codes, if these are the first. */
  readonly onDone: (codes: readonly string[]) => void
}

/** Sets up an authenticator app: shows its secret and asks for its first code. */
function TotpDialog({ onClose, onDone }: TotpDialogProps) {
  const { api } = useAppContext()
  useSecretEnd(onClose)
  const [setup, setSetup] = useState<TotpSetup>()
  const [code, setCode] = useState('')
  const begin = useMutation(async () =>
    setSetup(await api.post<TotpSetup>('/admin/session/factors/totp/begin')),
  )
  const { run } = begin
  useEffect(() => void run(), [run])
  const confirm = useMutation(async () => {
    const body = { token: setup?.token, code }
    onDone((await api.post<RecoveryCodes>('/admin/session/factors/totp/confirm', body)).recovery_codes)
  })
  const shown = begin.error ? { ...confirm, error: begin.error } : confirm
  return (
    <Confirm title="Set up an authenticator app" verb="Confirm" mutation={shown} onClose={onClose}>
      <p>Scan this picture with the app, then enter the code that it shows.</p>
      {setup ? <Secret setup={setup} /> : !begin.error && <Loading />}
      <TextField
        label="Code"
        help="Six digits from the app."
        value={code}
        onValue={setCode}
        autocomplete="one-time-code"
        inputMode="numeric"
        required
      />
    </Confirm>
  )
}

function Secret({ setup }: { setup: TotpSetup }) {
  return (
    <>
      <QrCode text={setup.url} label="QR code for the authenticator app" />
      <p class="dim">Or enter this secret in the app</p>
      <CodeBlock text={setup.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')} what="the secret" />
    </>
  )
}

/** Modules of empty space around the code, which scanners need. */
const BORDER = 4

/** A QR code, drawn here: the text is not sent anywhere. */
function QrCode({ text, label }: { text: string; label: string }) {
  const [modules, setModules] = useState<readonly (readonly boolean[])[]>([])
  useEffect(() => {
    import('qr').then(({ encodeQR }) => setModules(encodeQR(text, 'raw', { border: BORDER })))
  }, [text])
  const size = modules.length
  const path = modules
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} />
      <path d={path} />
    </svg>
  )
}
