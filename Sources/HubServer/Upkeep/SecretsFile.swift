import Crypto
import HostSystem
import HubProtocol
import HubStore

/// The file with the key that a hub's credentials are encrypted with.
package struct SecretsFile {
    let path: String

    /// Reads the key, or creates one.
    ///
    /// - Throws: A `HostError` if the file cannot be read, holds no key, or cannot be written.
    func box() throws(HostError) -> SecretBox {
        do throws(HostError) {
            let text = try PrivateFile.read(path, limit: 1_024)
            let key = Base64URL.decode(text.filter { $0 != "\n" })
            guard let key, key.count == SecretBox.keyBytes else {
                throw HostError("cannot use", path, because: "it holds no key of \(SecretBox.keyBytes) bytes")
            }
            return SecretBox(key: key)
        } catch {
            guard error.isMissing else { throw error }
        }
        let key = Self.newKey()
        try PrivateFile.write(Self.text(key), to: path)
        return SecretBox(key: key)
    }

    private static func newKey() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes { [UInt8]($0) } }

    private static func text(_ key: [UInt8]) -> String { "\(Base64URL.encode(key))\n" }

    /// The text of a file with a new key.
    package static func new() -> String { text(newKey()) }
}
