import Crypto
import Foundation
package import HostSystem
import HubProtocol

/// Encrypts payloads at rest with AES-256-GCM; the key is in a separate file.
///
/// A copy of the database alone does not reveal the payloads. Each payload is bound to its id and addressee, so that a
/// row moved to another user cannot be decrypted.
///
/// Source: NIST SP 800-38D.
package struct PayloadBox: Sendable {
    private static let keyBytes = 32
    /// The largest key file that is read, in bytes.
    private static let maximumFile = 1_024

    private let key: SymmetricKey

    /// Reads the key file, or creates one.
    ///
    /// - Throws: A `HostError` when the file cannot be read or written, or holds no key.
    package init(keyFile path: String) throws(HostError) {
        do throws(HostError) {
            let text = try PrivateFile.read(path, limit: Self.maximumFile)
            guard let bytes = Base64URL.decode(text.filter { $0 != "\n" }), bytes.count == Self.keyBytes else {
                throw HostError("cannot use", path, because: "it does not contain a key of \(Self.keyBytes) bytes")
            }
            key = SymmetricKey(data: bytes)
            return
        } catch {
            guard error.isMissing else { throw error }
        }
        key = SymmetricKey(size: .bits256)
        let bytes = key.withUnsafeBytes { [UInt8]($0) }
        try PrivateFile.write("\(Base64URL.encode(bytes))\n", to: path)
    }

    /// Uses a key of 32 bytes that all nodes of a hub have.
    package init(key: [UInt8]) { self.key = SymmetricKey(data: key) }

    func seal(_ text: String, id: Int64, addressee: String) throws -> Data {
        let context = Self.context(id, addressee)
        let box = try AES.GCM.seal(Data(text.utf8), using: key, authenticating: context)
        // Present for every nonce of the standard length, which this one has.
        return box.combined ?? Data()
    }

    /// - Returns: `nil` for a payload that was encrypted with another key, or for another id or addressee.
    func open(_ sealed: Data, id: Int64, addressee: String) -> String? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let opened = try? AES.GCM.open(box, using: key, authenticating: Self.context(id, addressee))
        else { return nil }
        return String(decoding: opened, as: UTF8.self)
    }

    private static func context(_ id: Int64, _ addressee: String) -> Data {
        Data("newswire payload \(id) \(addressee)".utf8)
    }
}
