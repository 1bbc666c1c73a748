/// A certificate as Apple makes them for APNs, which was valid in 2019.
package enum ExpiredCertificate {
    /// The certificate, signed by its own key, and that key, which is used nowhere else.
    package static let pem = """
        -----BEGIN CERTIFICATE-----
        MIICJDCCAcmgAwIBAgIUcVaWuYWnxP7wBysDNysmZq2pso4wCgYIKoZIzj0EAwIw
        ZzEgMB4GCgmSJomT8ixkAQEMEG9yZy5leGFtcGxlLm5ld3MxLjAsBgNVBAMMJUFw
        cGxlIFB1c2ggU2VydmljZXM6IG9yZy5leGFtcGxlLm5ld3MxEzARBgNVBAsMClRF
        QU0xMjM0NTYwHhcNMTkwMTAxMDAwMDAwWhcNMjAwMTAxMDAwMDAwWjBnMSAwHgYK
        CZImiZPyLGQBAQwQb3JnLmV4YW1wbGUubmV3czEuMCwGA1UEAwwlQXBwbGUgUHVz
        aCBTZXJ2aWNlczogb3JnLmV4YW1wbGUubmV3czETMBEGA1UECwwKVEVBTTEyMzQ1
        NjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMO8C1RhHkK/ppk6nSqfXHF6uTCi
        IyuqLy+TbGKxC73aCIHPCsm/1Norl5Mgbbvd4nIlKhEAr0sXGoABM5EPMjijUzBR
        MB0GA1UdDgQWBBSmInNd0GHqrsIkit/M+btaz5pfcTAfBgNVHSMEGDAWgBSmInNd
        0GHqrsIkit/M+btaz5pfcTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kA
        MEYCIQDY34sO/tR/0W3llOHi4mRLCgWcp4sCyR0E6ED6Y8Z9nQIhAMiw5PbvcFep
        iLPQ+LvjO7SVgzAU40EfzHRk724q8lHq
        -----END CERTIFICATE-----
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgx/+oHun01Nu+ccaU
        d7gPny4ICwOm3hrPAVwDOLPl02yhRANCAATDvAtUYR5Cv6aZOp0qn1xxerkwoiMr
        qi8vk2xisQu92giBzwrJv9TaK5eTIG273eJyJSoRAK9LFxqAATORDzI4
        -----END PRIVATE KEY-----

        """
}
