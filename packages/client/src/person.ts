import type { Schemas } from './api.ts'

export type NinRequest = Schemas['VerifyNinRequest']
export type NinPerson = Schemas['VerifyNinResponse']['data']
export type BvnRequest = Schemas['VerifyBvnRequest']
export type BvnPerson = Schemas['VerifyBvnResponse']['data']
