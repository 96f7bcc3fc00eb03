import { defineTexts } from '../language.ts'

export const peopleTexts = defineTexts('people', {
  ask: 'Report about a person',
  askNote:
    'What is held about a person, who asked and what was released. Each report is written to the audit log with its reason.',
  needsOperator: 'Your role cannot make reports about people. That needs the role operator.',
  type: 'Type',
  number: 'Number',
  numberHint: '11 digits',
  reason: 'Reason',
  reasonHelp: '10 to 200 characters. No names or numbers: the audit log cannot be edited.',
  make: 'Make the report',
  showValues: 'Show values…',
  showTitle: 'Show the values of this report?',
  showNote:
    'The report is made again, with personal data in the clear. Your name, the reason and the time are written to the audit log.',
  showVerb: 'Show values',
  hide: 'Hide the report',
  erase: 'Erase this person…',
  eraseTitle: 'Erase all data about this person?',
  eraseNote:
    'The record, the picture, kept answers, pending questions, rows of batches and reused results are erased at once. This cannot be undone. Your name, the reason and the time are written to the audit log.',
  eraseVerb: 'Erase',
  saveJson: 'Save as JSON',
  saveCsv: 'Save as CSV',
  savePage: 'Save for print',
  erasedTitle: 'Erased',
  erasedNothing: 'No data was stored under this number. Nothing was erased.',
  erasedWhat: 'Erased',
  remains: 'What remains, and why',
  notInFile:
    'The erasure is not in erasures.log yet. A server adds it within a minute, if it can write there. Without it, a restore of an older backup brings the person back.',
  counts: {
    records: 'Records',
    pictures: 'Pictures',
    kept_answers: 'Kept answers',
    reused_results: 'Reused results',
    queued_verifications: 'Queued verifications',
  },
  otherNumber:
    'A report by NIN does not know the BVN, and a report by BVN does not know the NIN. Make one for each number.',
})
