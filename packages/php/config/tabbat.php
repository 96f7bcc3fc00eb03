<?php

declare(strict_types=1);

/** php artisan vendor:publish --tag=tabbat-config copies this file to config/tabbat.php. */
return [
    // Address of the server, for example https://tabbat.example.com.
    'base_url' => env('TABBAT_URL'),
    // An API key: tbt_test_… or tbt_live_…
    'key' => env('TABBAT_KEY'),
    // For a whole call with its retries, in seconds.
    'timeout_s' => 60,
    // For one request.
    'attempt_timeout_s' => 20,
    // Retries of one call.
    'max_retries' => 4,
];
