import Foundation
import Testing

@testable import HostSystem

@Suite struct ConfinedFolderTests {
    private final class Scratch {
        let path = FileManager.default.temporaryDirectory.appending(component: "nwc-\(UUID().uuidString)").path
        var folder: ConfinedFolder { ConfinedFolder("\(path)/in") }

        init() throws {
            try FileManager.default.createDirectory(atPath: "\(path)/in", withIntermediateDirectories: true)
            try "outside".write(toFile: "\(path)/secret", atomically: true, encoding: .utf8)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private func text(_ file: ConfinedFile) throws -> String {
        String(decoding: try file.read(100, at: 0), as: UTF8.self)
    }

    @Test func `files are made with their folders, for this user only, and read again`() throws {
        let scratch = try Scratch()
        let folder = ConfinedFolder("\(scratch.path)/new")
        let file = try folder.openForWriting("a/b/c.txt")
        try file.write(Array("hello world".utf8), at: 0)
        try file.write(Array("p!".utf8), at: 3)
        #expect(try text(folder.openForReading("a/b/c.txt")) == "help!", "what was behind is cut")
        #expect(try file.read(2, at: 3) == Array("p!".utf8) && file.read(9, at: 5) == [])
        for name in ["new", "new/a", "new/a/b"] {
            #expect(try HostFile.permissions("\(scratch.path)/\(name)") == 0o700)
        }
        #expect(try HostFile.permissions("\(scratch.path)/new/a/b/c.txt") == 0o600)
    }

    @Test func `a file that has changed is another one`() throws {
        let scratch = try Scratch()
        let file = try scratch.folder.openForWriting("x")
        let empty = try file.identity()
        #expect(try scratch.folder.openForReading("x").identity() == empty)
        try file.write([1], at: 0)
        #expect(try file.identity() != empty)
    }

    @Test func `a file may be of any century`() throws {
        let scratch = try Scratch()
        let file = try scratch.folder.openForWriting("x")
        let date = Date(timeIntervalSinceNow: 400 * 365 * 86_400)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: "\(scratch.path)/in/x")
        let facts = try FileManager.default.attributesOfItem(atPath: "\(scratch.path)/in/x")
        // Not every file system keeps it.
        let kept = try #require(facts[.modificationDate] as? Date)
        #expect(try file.identity().changedAt == Int64(kept.timeIntervalSince1970.rounded(.down)))
    }

    @Test(arguments: [
        "", "/", "..", "../secret", "a/../../secret", "/etc/passwd", "./x", "a//b", "x/", "x\0y", "a/.",
    ])
    func `no name leads out`(name: String) throws {
        let scratch = try Scratch()
        #expect(throws: HostError.self) { try scratch.folder.openForReading(name) }
        #expect(throws: HostError.self) { try scratch.folder.openForWriting(name) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(scratch.path)/in") == [])
    }

    @Test func `links are not followed, and only files are opened`() throws {
        let scratch = try Scratch()
        let manager = FileManager.default
        try manager.createSymbolicLink(atPath: "\(scratch.path)/in/link", withDestinationPath: "../secret")
        try manager.createSymbolicLink(atPath: "\(scratch.path)/in/up", withDestinationPath: "..")
        try manager.createDirectory(atPath: "\(scratch.path)/in/folder", withIntermediateDirectories: false)
        #expect(mkfifo("\(scratch.path)/in/pipe", 0o600) == 0)
        for name in ["link", "up/secret", "folder", "pipe"] {
            #expect(throws: HostError.self, "\(name)") { try scratch.folder.openForReading(name) }
            if name != "pipe" {
                #expect(throws: HostError.self, "\(name)") { try scratch.folder.openForWriting(name) }
            }
        }
        #expect(try String(contentsOfFile: "\(scratch.path)/secret", encoding: .utf8) == "outside")
        let missing = #expect(throws: HostError.self) { try scratch.folder.openForReading("nothing/here") }
        #expect(missing?.isMissing == true)
    }

    @Test func `what was made is removed, and nothing else`() throws {
        let scratch = try Scratch()
        for name in ["job/Output.txt", "job/Failed.txt", "other/Output.txt", "other/mine.txt"] {
            try scratch.folder.openForWriting(name).write([1], at: 0)
        }
        for folder in ["job", "other", "never"] { try scratch.folder.remove(["Output.txt", "Failed.txt"], of: folder) }
        let left = try FileManager.default.subpathsOfDirectory(atPath: scratch.folder.path).sorted()
        #expect(left == ["other", "other/mine.txt"])
        try FileManager.default.createSymbolicLink(
            atPath: "\(scratch.folder.path)/up",
            withDestinationPath: scratch.path
        )
        #expect(throws: HostError.self) { try scratch.folder.remove(["secret"], of: "up") }
        #expect(throws: HostError.self) { try scratch.folder.remove(["secret"], of: "..") }
        #expect(HostFile.exists("\(scratch.path)/secret"))
    }
}
