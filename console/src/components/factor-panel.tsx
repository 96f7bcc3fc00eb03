import { useState } from 'preact/hooks'
import type { Passkey } from '../../../src/admin/shapes/passkeys.ts'
import type { FactorList, RecoveryCodes } from '../../../src/admin/shapes/second-factors.ts'
import { useAppContext } from '../app-context.ts'
import { factorsTexts as texts } from '../texts/en/factors.ts'
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
    <Panel title={texts.title}>
      <p class="dim">{texts.intro}</p>
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
        <ShownOnce
          title={texts.codesTitle}
          what={texts.codesTitle}
          text={open.codes.join('\n')}
          onClose={done}
        >
          {texts.codesShown}
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
      {!hasAny && <p>{texts.none}</p>}
      <Facts
        facts={[
          [
            texts.app,
            totp_since === null ? (
              texts.notSetUp
            ) : (
              <>
                {texts.since} <When at={totp_since} />
              </>
            ),
          ],
          ...(hasAny ? [[texts.codesTitle, texts.codesLeft(recovery_codes)] as const] : []),
        ]}
      />
      <span class="actions">
        {totp_since === null ? (
          <button type="button" class="main" onClick={() => onOpen({ what: 'setup' })}>
            {texts.setUpApp}
          </button>
        ) : (
          <button type="button" onClick={() => onOpen({ what: 'remove' })}>
            {texts.removeApp}
          </button>
        )}
        {hasAny && (
          <button type="button" onClick={() => onOpen({ what: 'renew' })}>
            {texts.renew}
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
      title={texts.removeAppQuestion}
      verb={texts.remove}
      mutation={mutation}
      onClose={onClose}
      isDanger
    >
      <p>{texts.removeAppEffect}</p>
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
    <Confirm title={texts.renewQuestion} verb={texts.renew} mutation={mutation} onClose={onClose}>
      <p>{texts.renewEffect}</p>
    </Confirm>
  )
}
