import Crypto
import Foundation

/// An operator with an account of log servers, and the credentials of its users, as `nsc` writes them.
///
/// Source: NATS, "JWT authentication"; the keys are those of nkeys: Ed25519 in base32 with a prefix and a CRC-16.
struct LogAccounts {
    private struct Key {
        enum Kind: UInt8 {
            case operation = 0x70
            case account = 0x00
            case user = 0xA0
        }

        let kind: Kind
        let key = Curve25519.Signing.PrivateKey()

        init(_ kind: Kind) { self.kind = kind }

        var name: String { Self.text([kind.rawValue] + key.publicKey.rawRepresentation) }

        var seed: String {
            let prefix: UInt8 = 18 << 3
            return Self.text([prefix | kind.rawValue >> 5, (kind.rawValue & 31) << 3] + key.rawRepresentation)
        }

        private static func text(_ bytes: [UInt8]) -> String {
            let sum = bytes.reduce(UInt16(0)) { sum, byte in
                (0..<8).reduce(sum ^ UInt16(byte) << 8) { sum, _ in sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
            }
            return base32(bytes + [UInt8(sum & 0xFF), UInt8(sum >> 8)])
        }

        private static func base32(_ bytes: [UInt8]) -> String {
            let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
            let bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
            return String(
                stride(from: 0, to: bits.count, by: 5).map { start in
                    let five = bits[start..<min(start + 5, bits.count)]
                    return letters[five.reduce(0) { $0 << 1 | Int($1) } << (5 - five.count)]
                }
            )
        }
    }

    private let operation = Key(.operation)
    private let account = Key(.account)
    private let system = Key(.account)

    /// Lines for the servers' configuration.
    func settings() throws -> String {
        let common = ["subs", "data", "payload", "imports", "exports", "conn", "leaf"]
        let storage = ["mem_storage", "disk_storage", "streams", "consumer"]
        func limits(_ names: [String]) -> [String: any Sendable] {
            var limits: [String: any Sendable] = ["wildcards": true]
            for name in names { limits[name] = -1 }
            return ["type": "account", "limits": limits]
        }
        let own = try token(operation, operation, ["type": "operator"])
        let accounts = [
            "\(account.name): \(try token(operation, account, limits(common + storage)))",
            "\(system.name): \(try token(operation, system, limits(common)))",
        ]
        return """
            operator: \(own)
            system_account: \(system.name)
            resolver: MEMORY
            resolver_preload: { \(accounts.joined(separator: ", ")) }
            """
    }

    /// Writes the credentials of a user of the account.
    func writeCredentials(to path: String) throws {
        let user = Key(.user)
        let permissions: [String: any Sendable] = ["type": "user", "subs": -1, "data": -1, "payload": -1]
        try """
        -----BEGIN NATS USER JWT-----
        \(try token(account, user, permissions))
        ------END NATS USER JWT------

        -----BEGIN USER NKEY SEED-----
        \(user.seed)
        ------END USER NKEY SEED------

        """.write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// Signs what one key says of another.
    private func token(_ issuer: Key, _ subject: Key, _ facts: [String: any Sendable]) throws -> String {
        let claims: [String: any Sendable] = [
            "jti": UUID().uuidString, "iat": 1_700_000_000, "iss": issuer.name, "sub": subject.name, "name": "test",
            "nats": facts.merging(["version": 2]) { $1 },
        ]
        let head = Self.text(Data(#"{"typ":"JWT","alg":"ed25519-nkey"}"#.utf8))
        let signed = "\(head).\(Self.text(try JSONSerialization.data(withJSONObject: claims)))"
        return "\(signed).\(Self.text(try issuer.key.signature(for: Data(signed.utf8))))"
    }

    private static func text(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
