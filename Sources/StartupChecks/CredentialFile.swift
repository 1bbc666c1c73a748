import Formats
import Foundation
import HostSystem
import HubProtocol

/// Reads a credential for a push service from a JSON file.
///
/// Its members are the properties of the management API. One that ends in `File` names a file with the property's text,
/// or with bytes that become base64, such as a .p12; the path is relative to the JSON file. A service account's key
/// file is accepted as Google issues it.
struct CredentialFile {
    /// Maximum size of a file in bytes.
    private static let maximumBytes = 256 << 10

    let path: String
    /// All the files that it was read from.
    private(set) var files: [String] = []

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    mutating func credential(_ kind: PlatformCredential.Kind) throws -> PlatformCredential {
        files.append(path)
        let text = try PrivateFile.read(path, limit: Self.maximumBytes)
        guard let members = (try? JSONReader.read(Array(text.utf8)))?.members else {
            throw Problem(description: "'\(path)' is not a JSON object")
        }
        var properties: [PlatformCredential.Property] = []
        for member in members {
            guard let value = member.value.string else { continue }
            if let name = Self.googleNames[member.name] {
                properties.append(.init(name: name, value: value))
            } else if member.name.hasSuffix("File") {
                properties.append(.init(name: String(member.name.dropLast(4)), value: try content(of: value)))
            } else {
                properties.append(.init(name: member.name, value: value))
            }
        }
        return PlatformCredential(
            kind,
            kind == .fcmV1 ? properties.filter { Self.fcmNames.contains($0.name) } : properties
        )
    }

    private static let googleNames = [
        "project_id": "ProjectId", "private_key": "PrivateKey", "client_email": "ClientEmail",
        "private_key_id": "PrivateKeyId",
    ]
    private static let fcmNames: Set = ["ProjectId", "PrivateKey", "ClientEmail", "PrivateKeyId"]

    private mutating func content(of name: String) throws -> String {
        let file = URL(filePath: name, relativeTo: URL(filePath: path).deletingLastPathComponent()).path
        files.append(file)
        let bytes: [UInt8]
        do throws(HostError) {
            bytes = try PrivateFile.bytes(file, limit: Self.maximumBytes)
        } catch {
            throw Problem(description: "'\(path)': \(error)")
        }
        return String(validating: bytes, as: UTF8.self) ?? Data(bytes).base64EncodedString()
    }
}
