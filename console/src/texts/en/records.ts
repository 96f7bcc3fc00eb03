import { defineTexts } from '../language.ts'

export const recordsTexts = defineTexts('records', {
  title: 'Your own records',
  none: 'There are no records. Import them with {command}; each record is encrypted.',
  viewerNote: 'Your role shows only the number of records. Looking one up needs the role operator.',
  ninRecords: 'NIN records',
  bvnRecords: 'BVN records',
  pictures: 'Pictures',
  lookUpTitle: 'Look up a record',
  type: 'Type',
  number: 'Number',
  numberExample: '11 digits',
  lookUp: 'Look up',
  masked: 'Values are masked. Each look-up is written to the audit log.',
  notFound: 'There is no record with this number.',
  reveal: 'Reveal…',
  revealTitle: 'Reveal this record?',
  revealVerb: 'Reveal for 60 seconds',
  revealNote:
    'Your name, the reason and the time are written to the audit log. The values are hidden after 60 seconds.',
  record: 'Record',
  visible: 'Visible for {seconds} seconds',
  secondsLeft: 'Seconds left',
  hide: 'Hide now',
})
