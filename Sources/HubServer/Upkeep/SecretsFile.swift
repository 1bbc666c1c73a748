import Crypto
import HostSystem
import HubProtocol
import HubStore

/// The file with the key that a hub's credentials are encrypted with.
struct SecretsFile {
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
        let key = SymmetricKey(size: .bits256).withUnsafeBytes { [UInt8]($0) }
        try PrivateFile.write("\(Base64URL.encode(key))\n", to: path)
        return SecretBox(key: key)
    }
}
