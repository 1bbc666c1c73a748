import Foundation
import HostSystem
import HubProtocol
import NetworkAddresses
import Settings

/// The answers as people write them, in the dialogue and in flags.
///
/// Each reader returns the value, or throws a ``SetupMistake`` that says what is wrong.
enum SetupReading {
    /// The answer for nothing: no name, no notifications.
    static let none = "none"

    static func hostName(_ text: String) throws(SetupMistake) -> HostName? {
        guard text.lowercased() != none else { return nil }
        guard let name = (try? HubSettings.hostNames.parse(text))?.first, !text.contains(",") else {
            throw SetupMistake("'\(text)' is not a host name or address, such as news.example.org")
        }
        guard !name.isLoopback else {
            throw SetupMistake(
                "'\(text)' is a name of this machine alone: write '\(none)' if others shall not reach it"
            )
        }
        return name
    }

    /// Reads `own`, `proxy`, or the paths of a certificate and its key with a space between them.
    static func certificate(_ text: String) throws(SetupMistake) -> SetupAnswers.Certificate {
        switch text.lowercased() {
        case "own": return .own
        case "proxy": return .proxy
        default:
            let paths = text.split(separator: " ").map { absolute(String($0)) }
            guard paths.count == 2 else {
                throw SetupMistake("'\(text)' is not 'own', 'proxy', or the paths of a certificate and its key")
            }
            return .files(certificate: paths[0], key: paths[1])
        }
    }

    static func pages(_ text: String) throws(SetupMistake) -> PageAccess {
        guard let access = PageAccess(rawValue: text.lowercased()) else {
            throw SetupMistake("'\(text)' is not 'public', 'invited' or 'off'")
        }
        return access
    }

    /// Reads `all`, categories with commas between them, or the path of an OPML file.
    static func feeds(_ text: String) throws(SetupMistake) -> SetupAnswers.Feeds {
        if text.lowercased() == "all" { return .present }
        let isFile = text.contains("/") || [".opml", ".xml"].contains { text.lowercased().hasSuffix($0) }
        if isFile { return .document(absolute(text)) }
        let names = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        guard !names.isEmpty else { throw SetupMistake("there is no category in '\(text)'") }
        return .categories(names)
    }

    static func contact(_ text: String) throws(SetupMistake) -> String? {
        guard text.lowercased() != none else { return nil }
        do {
            return try HubSettings.pushContact.parse(text)
        } catch {
            throw SetupMistake("'\(text)': \(error)")
        }
    }

    static func decision(_ text: String) throws(SetupMistake) -> Bool {
        switch text.lowercased() {
        case "y", "yes": return true
        case "n", "no": return false
        default: throw SetupMistake("'\(text)' is neither 'yes' nor 'no'")
        }
    }

    /// Units and later runs have other working directories.
    private static func absolute(_ path: String) -> String {
        let home = ProcessInfo.processInfo.environment["HOME"]
        if path.hasPrefix("~/"), let home { return home + path.dropFirst() }
        return path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    }
}

/// An answer that cannot be used.
struct SetupMistake: Error, CustomStringConvertible {
    let description: String

    init(_ text: String) { description = text }
}
