import { defineTexts } from '../language.ts'

/** Lets a number be verified again after too many failed matches. */
export const unlockTexts = defineTexts('unlock', {
  title: 'Unlock a number',
  type: 'Type',
  number: 'Number to unlock',
  numberExample: '11 digits',
  reason: 'Reason',
  reasonExample: 'Customer changed the phone, ticket 481',
  reasonHelp: '10 to 200 characters, without the number of a person.',
  unlock: 'Unlock',
  help: 'After five failed matches by one key in 24 hours, or twenty by all, a number gets 429 too_many_attempts. Unlocking forgets them. It is written to the audit log, with the reason.',
  done: 'The number can be verified again. Failed matches forgotten: ',
  notLocked: 'The number has no failed matches in the last 24 hours.',
})
