import { defineTexts } from '../language.ts'

/** Usage and cost of keys by month. */
export const keyUsageTexts = defineTexts('keyUsage', {
  title: 'Usage and cost by month',
  from: 'From',
  to: 'To',
  download: 'Download CSV',
  help: 'Months are in Lagos time. The cost has the prices that were set when each call was made.',
  none: 'No key was used in this time.',
  label: 'Usage of keys',
  month: 'Month',
  key: 'Key',
  deleted: 'a key of this server',
  owner: 'Owner',
  verified: 'Verified',
  notVerified: 'Not verified',
  failed: 'Failed',
  paidCalls: 'Paid calls',
  cost: 'Cost (₦)',
})
