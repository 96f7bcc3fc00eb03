<?php

/** Verifies a NIN and lists bundles with the client for PHP, which retries by itself. PHP 8.1 or later, with curl and mbstring. */

declare(strict_types=1);

use Tabbat\Tabbat;
use Tabbat\TabbatException;

// With Composer: vendor/autoload.php.
require __DIR__ . '/../../packages/php/autoload.php';

function verify(Tabbat $tabbat, #[\SensitiveParameter] string $nin, #[\SensitiveParameter] string $phone): string
{
    try {
        $result = $tabbat->verifyNin(nin: $nin, phone: $phone);
    } catch (TabbatException $error) {
        return $error->errorCode === 'validation_failed' ? 'invalid: ' . implode('; ', array_merge(...array_values($error->fields))) : throw $error;
    }
    return match (true) {
        $result->verified => "verified: $result->reference",
        $result->pending => "pending: $result->reference",
        default => "not verified: $result->reference",
    };
}

try {
    $tabbat = new Tabbat(key: (string) getenv('TABBAT_KEY'), baseUrl: getenv('TABBAT_URL') ?: 'http://127.0.0.1:8080');
    echo verify($tabbat, '12345678901', '08031234567'), "\n";
    echo verify($tabbat, '00000000422', '08031234567'), "\n";
    echo verify($tabbat, '12345678901', '123'), "\n";
    $bundles = $tabbat->listInternetBundles('smile');
    echo 'bundles: ', $bundles === [] ? 'none' : count($bundles) . ", the first is {$bundles[0]['code']} for {$bundles[0]['price']} naira", "\n";
} catch (TabbatException $error) {
    // No text of it contains what was sent.
    fwrite(STDERR, "status $error->status, code $error->errorCode, request $error->requestId\n");
    exit(1);
}
