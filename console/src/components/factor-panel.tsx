import { useState } from 'preact/hooks'
import type { FactorList, Passkey, RecoveryCodes } from '../../../src/admin/second-factors.ts'
import { useAppContext } from '../app-context.ts'
import { useMutation } from '../use-mutation.ts'
import { useQuery } from '../use-query.ts'
import { Confirm } from './dialog.tsx'
import { Facts } from './facts.tsx'
import { Panel } from './panel.tsx'
import { AddPasskey, PasskeyList, RemovePasskey } from './passkey-panel.tsx'
import { QueryResult } from './query-result.tsx'
import { ShownOnce } from './shown-once.tsx'
import { TotpDialog } from './totp-dialog.tsx'
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
