import Testing

@testable import OutboundHTTP

@Suite struct ContentCodingsTests {
    @Test(
        arguments: [
            (1 << 3 | 1 << 23 | 1 << 26, "gzip, br, zstd"), (1 << 3, "gzip"), (1 << 26, "zstd"), (1 << 4, nil),
            (0, nil),
        ] as [(Int32, String?)]
    )
    func `only what libcurl can undo is asked for`(_ features: Int32, _ field: String?) {
        #expect(ContentCodings.accepted(features: features) == field)
    }
}
