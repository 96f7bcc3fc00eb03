import { defineTexts } from '../language.ts'

/** Texts that several pages use. */
export const commonTexts = defineTexts('common', {
  loading: 'Loading…',
  tryAgain: 'Try again',
  close: 'Close',
  cancel: 'Cancel',
  none: 'There is none.',
  typeToConfirm: 'Type {text} to confirm',
  show: 'Show',
  hide: 'Hide',
  toShowLabel: (field: string) => `Show ${field}`,
  copy: 'Copy',
  copied: 'Copied',
  copyFailed: 'Select and copy',
  toCopyLabel: (what: string) => `Copy ${what}`,
  saved: 'I have saved it',
  actions: 'Actions',
  pageError: 'Internal error of the page. Reload it.',
  newPassword: 'New password',
  repeatPassword: 'Repeat password',
  toPasswordHelp: (least: number) => `At least ${least} characters, for example several unrelated words.`,
  toMoreNeeded: (count: number) => `${count} more characters needed.`,
  longEnough: 'Long enough.',
  passwordsDiffer: 'The passwords differ.',
  operations: {
    verify_nin: 'Verify NIN',
    verify_bvn: 'Verify BVN',
    list_internet_bundles: 'Internet bundles',
    list_sme_bundles: 'SME bundles',
    list_tv_add_ons: 'TV add-ons',
  } as Readonly<Record<string, string>>,
})
