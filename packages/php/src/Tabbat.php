<?php

declare(strict_types=1);

namespace Tabbat;

use Tabbat\Http\CurlHttpClient;
use Tabbat\Http\HttpClient;
use Tabbat\Internal\Call;
use Tabbat\Internal\Transport;
use Tabbat\Internal\Verification;

/** A client of one server with one API key. It keeps connections open, and nothing else. */
final class Tabbat
{
    public readonly PendingVerifications $pending;
    public readonly Batches $batches;
    private readonly Transport $transport;

    /**
     * @param string $key An API key: tbt_test_… or tbt_live_…
     * @param string $baseUrl Address of the server without /api/v2, for example https://tabbat.example.com.
     * @param float $timeoutS For a whole call with its retries.
     * @param float $attemptTimeoutS For one request; longer than a server asks its sources.
     * @param int $maxRetries Retries of one call.
     * @param ?HttpClient $http Instead of cURL: a Psr18HttpClient, for example.
     */
    public function __construct(
        #[\SensitiveParameter] string $key,
        string $baseUrl,
        float $timeoutS = 60,
        float $attemptTimeoutS = 20,
        int $maxRetries = 4,
        ?HttpClient $http = null,
    ) {
        $this->transport = new Transport($key, $baseUrl, $timeoutS, $attemptTimeoutS, $maxRetries, $http ?? new CurlHttpClient());
        $this->pending = new PendingVerifications($this->transport);
        $this->batches = new Batches($this->transport);
    }

    /**
     * Verifies a NIN against a phone number.
     *
     * @param ?string $idempotencyKey 1 to 255 visible characters; without it, each call makes its own. The same key causes at most two paid
     *     calls in 24 hours (TABBAT_PAID_CALLS of the server), and an answer is not paid for again.
     * @param ?string $consentReference Your reference of the customer's consent, without personal data.
     * @param ?string $purpose What the verification is for, in one word. The operator may allow certain words only.
     * @param bool|int $respondAsync Answer later: true at once, a number after so many seconds at most.
     * @param ?float $timeoutS For the whole call with its retries.
     * @throws TabbatException
     */
    public function verifyNin(
        #[\SensitiveParameter] string $nin,
        #[\SensitiveParameter] string $phone,
        #[\SensitiveParameter] ?string $firstName = null,
        #[\SensitiveParameter] ?string $lastName = null,
        #[\SensitiveParameter] ?string $dateOfBirth = null,
        ?string $idempotencyKey = null,
        ?string $consentReference = null,
        ?string $purpose = null,
        bool|int $respondAsync = false,
        ?float $timeoutS = null,
    ): VerificationResult {
        $request = ['nin' => $nin, 'phone' => $phone, 'first_name' => $firstName, 'last_name' => $lastName, 'date_of_birth' => $dateOfBirth];
        $headers = self::toHeaders($idempotencyKey, $consentReference, $purpose, $respondAsync);
        return $this->verify('/api/v2/kyc/verify-nin', $request, $headers, $timeoutS);
    }

    /**
     * Verifies a BVN against a phone number. The options are those of verifyNin.
     *
     * @throws TabbatException
     */
    public function verifyBvn(
        #[\SensitiveParameter] string $bvn,
        #[\SensitiveParameter] string $phone,
        string $amount,
        #[\SensitiveParameter] ?string $firstName = null,
        #[\SensitiveParameter] ?string $lastName = null,
        #[\SensitiveParameter] ?string $dateOfBirth = null,
        ?string $idempotencyKey = null,
        ?string $consentReference = null,
        ?string $purpose = null,
        bool|int $respondAsync = false,
        ?float $timeoutS = null,
    ): VerificationResult {
        $request = ['bvn' => $bvn, 'phone' => $phone, 'amount' => $amount];
        $details = ['first_name' => $firstName, 'last_name' => $lastName, 'date_of_birth' => $dateOfBirth];
        $headers = self::toHeaders($idempotencyKey, $consentReference, $purpose, $respondAsync);
        return $this->verify('/api/v2/kyc/verify-bvn', $request + $details, $headers, $timeoutS);
    }

    /**
     * The data bundles of an internet provider: smile, spectranet.
     *
     * @return list<array{type: string, code: string, amount: string, price: string, description: string, duration: string}>
     * @throws TabbatException
     */
    public function listInternetBundles(string $provider, ?float $timeoutS = null): array
    {
        $answer = $this->transport->send(new Call('GET', '/api/v2/internet/data/' . rawurlencode($provider) . '/lookup', $timeoutS));
        $bundles = $answer->data()['data'] ?? null;
        return is_array($bundles) ? $bundles : throw TabbatException::unexpectedResponse($answer->status);
    }

    /**
     * @return list<array{description: string, code: string}>
     * @throws TabbatException
     */
    public function listSmeBundles(?float $timeoutS = null): array
    {
        return $this->transport->send(new Call('GET', '/api/v2/sme-data/list', $timeoutS))->data();
    }

    /**
     * The add-ons of a product of cable TV.
     *
     * @return list<array{add_on_product_code: string, product_code: string, name: string, price: string, type: string}>
     * @throws TabbatException
     */
    public function listTvAddOns(string $type, string $productCode, ?float $timeoutS = null): array
    {
        $query = http_build_query(['type' => $type, 'productCode' => $productCode], '', '&', PHP_QUERY_RFC3986);
        return $this->transport->send(new Call('GET', "/api/v2/cable-tv/fetch-tv-add-ons?$query", $timeoutS))->data();
    }

    /** @return array<string, mixed> */
    public function __debugInfo(): array
    {
        return ['baseUrl' => $this->transport->baseUrl];
    }

    /** @return array<string, string> */
    private static function toHeaders(?string $idempotencyKey, ?string $consentReference, ?string $purpose, bool|int $respondAsync): array
    {
        return array_filter([
            ...Verification::toPostHeaders($idempotencyKey),
            'x-consent-reference' => $consentReference === null ? null : Verification::toHeader('consentReference', $consentReference, 100),
            'x-purpose' => $purpose === null ? null : Verification::toHeader('purpose', $purpose, 40),
            'prefer' => $respondAsync === false ? null : Verification::toPrefer($respondAsync),
        ], is_string(...));
    }

    private function verify(
        string $path,
        #[\SensitiveParameter] array $request,
        array $headers,
        ?float $timeoutS,
    ): VerificationResult {
        $request = array_filter($request, is_string(...));
        $answer = $this->transport->send(new Call(
            'POST',
            $path,
            $timeoutS,
            $headers,
            body: Verification::toJson($request),
            sent: Verification::listPersonal($request),
            isResult: Verification::isNotVerified(...),
        ));
        $result = Verification::readResult($answer);
        return Verification::isOfAnother($result, $request) ? throw TabbatException::unexpectedResponse($answer->status) : $result;
    }
}
