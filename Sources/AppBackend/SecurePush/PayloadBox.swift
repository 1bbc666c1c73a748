import Crypto
import Foundation
package import HostSystem
import HubProtocol

/// Encrypts payloads at rest: AES-256-GCM, with a key in a file of its own.
///
/// A copy of the database alone tells nobody what was sent. Each payload is bound to its id and addressee, so that a row
/// that was moved to another user does not open.
///
/// Source: NIST SP 800-38D.
package struct PayloadBox: Sendable {
    private static let keyBytes = 32
    /// Bytes of the key's file that are read.
    private static let maximumFile = 1_024

    private let key: SymmetricKey

    /// Reads the key's file, or makes one.
    ///
    /// - Throws: A `HostError` when the file cannot be read, holds no key, or cannot be written.
    package init(keyFile path: String) throws(HostError) {
        do throws(HostError) {
            let text = try PrivateFile.read(path, limit: Self.maximumFile)
            guard let bytes = Base64URL.decode(text.filter { $0 != "\n" }), bytes.count == Self.keyBytes else {
                throw HostError("cannot use", path, because: "it holds no key of \(Self.keyBytes) bytes")
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

    func seal(_ text: String, id: Int64, addressee: String) throws -> Data {
        let context = Self.context(id, addressee)
        let box = try AES.GCM.seal(Data(text.utf8), using: key, authenticating: context)
        // Present for every nonce of the standard length, which this one has.
        return box.combined ?? Data()
    }

    /// - Returns: `nil` for what was sealed with another key, or for another id or addressee.
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
