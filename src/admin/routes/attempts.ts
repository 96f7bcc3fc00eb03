import { auditBy } from '../../audit/audit-by.ts'
import { readPersonNumber } from '../../contract/virtual-nin.ts'
import { AppError } from '../../errors.ts'
import { unlockNumber } from '../../verification/unlock-number.ts'
import { requireReason } from '../require-reason.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { Unlocked, UnlockRequest } from '../shapes/attempts.ts'

const unlock = defineRoute({
  name: 'unlock_number',
  tag: 'Records',
  method: 'POST',
  path: '/admin/attempts/unlock',
  summary:
    'Forget the failed matches of a number, so that it can be verified again after 429 too_many_attempts. Needs a reason. Audited.',
  role: 'operator',
  input: UnlockRequest,
  output: Unlocked,
  run: async (deps, { input: { kind, number: text, reason }, actor }) => {
    const checkedReason = requireReason(reason)
    const number = readPersonNumber(kind, text.trim())
    if (number === undefined) throw toInvalid()
    const { store, keyring } = deps.context
    const unlocking = { store, keyring: keyring(), audit: auditBy(deps, actor) }
    return { failed_matches: await unlockNumber(unlocking, { kind, number, reason: checkedReason }) }
  },
})

const toInvalid = () =>
  new AppError('validation_failed', { errors: { number: ['number must be 11 digits, or a virtual NIN'] } })

export const ATTEMPT_ROUTES: readonly AdminRoute[] = [unlock]
