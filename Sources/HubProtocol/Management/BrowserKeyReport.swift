/// The key with which browsers subscribe, as returned by `GET /{hub}/browser-key`.
package struct BrowserKeyReport: Codable, Sendable, Equatable {
    /// The hub's name for it.
    package let keyID: String
    /// `applicationServerKey` of a browser's `subscribe()`: a point of P-256, 65 bytes in base64url.
    package let publicKey: String

    package init(keyID: String, publicKey: String) {
        self.keyID = keyID
        self.publicKey = publicKey
    }
}
