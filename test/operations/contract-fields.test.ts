import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'

/** Written by hand from the contract, so that a change of our own shapes cannot change what is expected. */
const NIN = `request_reference nin_number document_no verification_status service_type
  personal_info.title personal_info.first_name personal_info.middle_name personal_info.last_name personal_info.full_name
  personal_info.maiden_name personal_info.gender personal_info.phone_number personal_info.date_of_birth
  personal_info.formatted_date_of_birth personal_info.height personal_info.marital_status personal_info.image_url
  personal_info.religion
  next_of_kin.firstname next_of_kin.surname next_of_kin.address next_of_kin.lga next_of_kin.town next_of_kin.state
  residential_info.address residential_info.lga_of_residence residential_info.state_of_residence
  residential_info.residence_status
  indigene_info.lga_of_origin indigene_info.place_of_origin indigene_info.state_of_origin indigene_info.lga_of_birth
  indigene_info.state_of_birth indigene_info.country_of_birth
  education_profession.educational_level education_profession.profession`
const BVN = `request_reference bvn_number name_on_card enrolment_branch enrolment_bank formatted_registration_date
  level_of_account nin watchlisted verification_status service_type
  personal_info.first_name personal_info.middle_name personal_info.last_name personal_info.full_name personal_info.email
  personal_info.gender personal_info.phone_number personal_info.phone_number_2 personal_info.date_of_birth
  personal_info.formatted_date_of_birth personal_info.lga_of_origin personal_info.state_of_origin
  personal_info.nationality personal_info.marital_status
  residential_info.state_of_residence residential_info.lga_of_residence residential_info.residential_address`

const words = (text: string) => text.trim().split(/\s+/).sort()

const paths = (value: object, before = ''): string[] =>
  Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'object' && inner !== null ? paths(inner, `${before}${name}.`) : [`${before}${name}`],
  )

let server: TestApp
beforeAll(async () => {
  server = await openTestApp()
})
afterAll(() => server.close())

const post = async (url: string, payload: object) =>
  (await server.app.inject({ method: 'POST', url, headers: bearer(), payload })).json() as Record<
    string,
    object
  >
const get = async (url: string) =>
  (await server.app.inject({ method: 'GET', url, headers: bearer() })).json() as Record<string, unknown>

describe('nothing missing, nothing extra', () => {
  it.each(['12345678901', '00000000001', '00000000003'])('in the NIN answer for %s', async (nin) => {
    const body = await post('/api/v2/kyc/verify-nin', { nin, phone: PHONE })
    expect(Object.keys(body)).toEqual(['success', 'message', 'data'])
    expect(paths(body.data ?? {}).sort()).toEqual(words(NIN))
  })

  it.each(['12345678901', '00000000001', '00000000002'])('in the BVN answer for %s', async (bvn) => {
    const body = await post('/api/v2/kyc/verify-bvn', { bvn, phone: PHONE, amount: '1' })
    expect(Object.keys(body)).toEqual(['success', 'message', 'data'])
    expect(paths(body.data ?? {}).sort()).toEqual(words(BVN))
  })

  it('in the look-ups', async () => {
    const internet = (await get('/api/v2/internet/data/smile/lookup')) as { data: { data: object[] } }
    expect(Object.keys(internet)).toEqual(['success', 'data'])
    expect(Object.keys(internet.data)).toEqual(['status', 'message', 'code', 'data'])
    expect(Object.keys(internet.data.data[0] ?? {})).toEqual([
      'type',
      'code',
      'amount',
      'price',
      'description',
      'duration',
    ])
    const sme = (await get('/api/v2/sme-data/list')) as { data: object[] }
    expect(Object.keys(sme)).toEqual(['success', 'status', 'message', 'data'])
    expect(Object.keys(sme.data[0] ?? {})).toEqual(['description', 'code'])
    const tv = (await get('/api/v2/cable-tv/fetch-tv-add-ons?type=DSTV&productCode=COMPE36')) as {
      data: object[]
    }
    expect(Object.keys(tv)).toEqual(['success', 'status', 'message', 'data'])
    expect(Object.keys(tv.data[0] ?? {})).toEqual([
      'add_on_product_code',
      'product_code',
      'name',
      'price',
      'type',
    ])
  })
})
