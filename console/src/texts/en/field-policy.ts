import { defineTexts } from '../language.ts'

/** The fields that the responses to a key contain. */
export const fieldPolicyTexts = defineTexts('fieldPolicy', {
  title: 'Fields in responses',
  toHidden: (count: number) => `${count} hidden`,
  toRevealed: (count: number) => `${count} revealed`,
  about: 'Selected fields are returned, all others as {mask}.',
  marked: 'Fields that are hidden by default are marked.',
  onlyOwner: 'Only an owner can select fields that are hidden by default.',
  hiddenByDefault: 'hidden by default',
  toHiddenWith: (field: string) => `hidden with ${field}`,
  preview: 'Preview',
  previewOf: 'Preview of',
  previewLabel: 'A response to this key, about a synthetic person',
})
