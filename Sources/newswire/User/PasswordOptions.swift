import AppBackend
import ArgumentParser
import Foundation
import HostSystem

/// Options for the source of a user's password.
///
/// It is never an argument, which other users of the machine can see.
struct PasswordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The file that contains the password; '-' is standard input (default: ask on the terminal).",
            valueName: "path"
        ),
        completion: .file()
    )
    var passwordFile: String?

    /// Maximum bytes of a password with its line break.
    private static let maximumBytes = Password.maximumBytes + 2

    /// Returns the password in the file; `nil` if no file is named.
    ///
    /// Must be called before root takes on the rights of the hub's user, since only root may be able to read the file.
    func read() throws -> Password? {
        guard let path = passwordFile else { return nil }
        return try Self.password(try Self.text(of: path), Self.name(of: path))
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: The file; `-` is standard input.
    ///   - kind: The secret that it should contain, for messages.
    /// - Returns: The text, without a final line break.
    /// - Throws: A `HostError`; ``Failure`` 64 for standard input that is too long or not UTF-8.
    static func text(of path: String, as kind: String = "a valid password") throws -> String {
        var text = path == "-" ? try standardInput(kind) : try PrivateFile.read(path, limit: maximumBytes)
        if text.last?.isNewline ?? false { text.removeLast() }
        return text
    }

    static func name(of path: String) -> String { path == "-" ? "standard input" : "'\(path)'" }

    /// Asks for the password twice on the terminal.
    static func ask(for name: UserName) throws -> Password {
        let first = try line("New password for \(name): ")
        let password = try password(first, "the input")
        guard try line("Again: ") == first else {
            throw Failure(.failed, "the two passwords differ", hint: "nothing was changed: run the command again")
        }
        return password
    }

    static func line(_ prompt: String) throws -> String {
        let typed: String?
        do {
            typed = try HiddenInput.line(prompt: prompt, limit: maximumBytes)
        } catch {
            throw Failure(.usage, "\(error)", hint: "pass --password-file PATH, or '-' for standard input")
        }
        guard let typed else { throw Failure(.failed, "no password was given; nothing was changed") }
        return typed
    }

    private static func password(_ text: String, _ source: String) throws -> Password {
        do {
            return try Password(new: text)
        } catch {
            throw Failure(.usage, "\(source) is not a valid password: \(error)")
        }
    }

    private static func standardInput(_ kind: String) throws -> String {
        let data = try FileHandle.standardInput.read(upToCount: maximumBytes + 1) ?? Data()
        guard data.count <= maximumBytes else {
            throw Failure(.usage, "standard input is not \(kind): it has more than \(maximumBytes) bytes")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw Failure(.usage, "standard input is not \(kind): not UTF-8 text")
        }
        return text
    }
}
