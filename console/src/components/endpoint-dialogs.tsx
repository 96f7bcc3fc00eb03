import { useState } from 'preact/hooks'
import type { CreatedEndpoint, Endpoint, TestResult } from '../../../src/admin/shapes/webhooks.ts'
import { useAppContext } from '../app-context.ts'
import { toMs } from '../format.ts'
import { webhooksTexts as texts } from '../texts/en/webhooks.ts'
import { fill } from '../texts/fill.ts'
import { useMutation } from '../use-mutation.ts'
import { Confirm, Dialog } from './dialog.tsx'
import { Facts } from './facts.tsx'
import { Pill } from './pill.tsx'
import { RollDialog } from './roll-dialog.tsx'
import { When } from './when.tsx'

type RowProps = { readonly row: Endpoint; readonly onClose: () => void }

const toPath = ({ id }: Endpoint, action: string) => `/admin/webhooks/${encodeURIComponent(id)}/${action}`

const REASONS = {
  operator: texts.byOperator,
  gone: texts.receiverGone,
  failing: texts.receiverFailing,
} as const

export function EndpointDialog({ row, onClose }: RowProps) {
  return (
    <Dialog title={row.name} onClose={onClose}>
      <Facts
        facts={[
          [texts.id, <code key="id">{row.id}</code>],
          [
            texts.address,
            <span key="url" class="breaks">
              {row.url}
            </span>,
          ],
          [texts.state, row.disabled_reason ? `${row.state}: ${REASONS[row.disabled_reason]}` : row.state],
          [texts.events, row.events.join(', ')],
          [texts.keys, row.keys.join(', ') || texts.allKeys],
          [texts.created, <When key="created" at={row.created_at} />],
          [texts.failingSince, <When key="failing" at={row.failing_since} otherwise={texts.notFailing} />],
          [texts.oldSecretUntil, <When key="old" at={row.old_secret_until} otherwise={texts.neverRolled} />],
        ]}
      />
    </Dialog>
  )
}

export function TestEndpointDialog({ row, onClose }: RowProps) {
  const { api } = useAppContext()
  const [result, setResult] = useState<TestResult>()
  const mutation = useMutation(async () => setResult(await api.post<TestResult>(toPath(row, 'test'))))
  if (result) return <TestResultDialog row={row} result={result} onClose={onClose} />
  return (
    <Confirm title={texts.testTitle} verb={texts.send} mutation={mutation} onClose={onClose}>
      <p>
        {fill(texts.testText, {
          strong: <b class="breaks">{row.name}</b>,
          code: <code>webhook.test</code>,
        })}
      </p>
    </Confirm>
  )
}

function TestResultDialog({ row, result, onClose }: RowProps & { result: TestResult }) {
  return (
    <Dialog title={texts.toTestTitle(row.name)} onClose={onClose}>
      <p>
        <Pill tone={result.ok ? 'good' : 'bad'}>{result.ok ? texts.delivered : texts.notDelivered}</Pill>
      </p>
      <p>{result.explanation}</p>
      <Facts
        facts={[
          [texts.status, result.status === null ? texts.noResponse : String(result.status)],
          [texts.duration, toMs(result.duration_ms)],
        ]}
      />
      <footer>
        <button type="button" class="main" onClick={onClose}>
          {texts.close}
        </button>
      </footer>
    </Dialog>
  )
}

const OVERLAPS = [
  { value: '0s', text: texts.noOverlap },
  { value: '24h', text: texts.overlapDay },
  { value: '7d', text: texts.overlapWeek },
]

type RollProps = RowProps & { readonly onCreated: (created: CreatedEndpoint) => void }

export function RollSecretDialog({ row, onClose, onCreated }: RollProps) {
  const { api } = useAppContext()
  const roll = async (overlap: string) =>
    onCreated(await api.post<CreatedEndpoint>(toPath(row, 'roll'), { overlap }))
  const words = { title: texts.rollTitle, verb: texts.createSecret, label: texts.overlapLabel }
  return (
    <RollDialog {...words} overlaps={OVERLAPS} roll={roll} onClose={onClose}>
      <p>{fill(texts.rollText, { strong: <b class="breaks">{row.name}</b> })}</p>
    </RollDialog>
  )
}

type ChangeProps = RowProps & { readonly onDone: () => void }

export function SwitchEndpointDialog({ row, onClose, onDone }: ChangeProps) {
  const { api } = useAppContext()
  const what = row.state === 'disabled' ? 'enable' : 'disable'
  const mutation = useMutation(async () => {
    await api.post(toPath(row, what))
    onDone()
  })
  return (
    <Confirm
      title={what === 'enable' ? texts.enableTitle : texts.disableTitle}
      verb={what === 'enable' ? texts.enable : texts.disable}
      mutation={mutation}
      onClose={onClose}
      isDanger={what === 'disable'}
    >
      <p>{what === 'enable' ? texts.enableText : texts.disableText}</p>
    </Confirm>
  )
}

export function DeleteEndpointDialog({ row, onClose, onDone }: ChangeProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(toPath(row, 'delete'))
    onDone()
  })
  return (
    <Confirm
      title={texts.removeTitle}
      verb={texts.remove}
      mutation={mutation}
      onClose={onClose}
      typed={row.id}
      isDanger
    >
      <p>{fill(texts.removeText, { strong: <b class="breaks">{row.name}</b> })}</p>
    </Confirm>
  )
}
