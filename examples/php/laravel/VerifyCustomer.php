<?php

declare(strict_types=1);

namespace App\Services;

use Tabbat\Tabbat;
use Tabbat\TabbatException;

/** A service of Laravel 8 or later: copy it to app/Services. Laravel passes the client, which the service provider of tabbat/client makes. */
final class VerifyCustomer
{
    public function __construct(private readonly Tabbat $tabbat)
    {
    }

    public function verify(#[\SensitiveParameter] string $nin, #[\SensitiveParameter] string $phone): string
    {
        try {
            $result = $this->tabbat->verifyNin(nin: $nin, phone: $phone);
        } catch (TabbatException $error) {
            return $error->errorCode === 'validation_failed' ? 'invalid: ' . collect($error->fields)->flatten()->implode('; ') : throw $error;
        }
        return match (true) {
            $result->verified => "verified: $result->reference",
            $result->pending => "pending: $result->reference",
            default => "not verified: $result->reference",
        };
    }

    public function describeBundles(string $provider): string
    {
        $bundles = $this->tabbat->listInternetBundles($provider);
        return $bundles === [] ? 'bundles: none' : 'bundles: ' . count($bundles) . ", the first is {$bundles[0]['code']} for {$bundles[0]['price']} naira";
    }
}
