import { defineTexts } from '../language.ts'

/** Texts that several pages use. */
export const commonTexts = defineTexts('common', {
  loading: 'Loading…',
  tryAgain: 'Try again',
  operations: {
    verify_nin: 'Verify NIN',
    verify_bvn: 'Verify BVN',
    list_internet_bundles: 'Internet bundles',
    list_sme_bundles: 'SME bundles',
    list_tv_add_ons: 'TV add-ons',
  } as Readonly<Record<string, string>>,
})
