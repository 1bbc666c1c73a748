import Glibc
import HostSystem
import Testing

@Suite struct FileLockTests {
    @Test func `a lock is held once, and free again when closed or let go`() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.file("lock")
        #expect(FileLock.heldFor(path) == nil)
        let first = try #require(try FileLock.acquire(path))
        #expect(try FileLock.acquire(path) == nil)
        first.close()
        do {
            let second = try FileLock.acquire(path)
            #expect(second != nil)
            #expect(try FileLock.acquire(path) == nil)
        }
        #expect(try FileLock.acquire(path) != nil)
    }

    @Test func `the time of holding begins anew with each holder`() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.file("lock")
        try FileLock.acquire(path)?.close()
        var old = [timespec(tv_sec: 1_000, tv_nsec: 0), timespec(tv_sec: 1_000, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, path, &old, 0) == 0)
        #expect(try #require(FileLock.heldFor(path)) > .seconds(1_000_000))
        let lock = try FileLock.acquire(path)
        #expect(try #require(FileLock.heldFor(path)) < .seconds(600))
        lock?.close()
    }

    @Test func `a lock whose directory is missing is an error`() {
        #expect(throws: HostError.self) { try FileLock.acquire("/nonexistent/newswire/lock") }
    }
}

@Suite struct PrivateFileTests {
    private let scratch: ScratchDirectory

    init() throws {
        scratch = try ScratchDirectory()
    }

    @Test func `what is written is read back, for this user only, with nothing left beside it`() throws {
        let path = scratch.file("secret")
        try PrivateFile.write("first", to: path)
        #expect(chmod(path, 0o644) == 0)
        try PrivateFile.write("second\n", to: path)
        #expect(try PrivateFile.read(path) == "second\n")
        #expect(mode(of: path) == 0o600)
        #expect(scratch.names == ["secret"])
    }

    @Test func `a missing file is distinguished from an unusable one`() throws {
        let missing = #expect(throws: HostError.self) { try PrivateFile.read(scratch.file("none")) }
        #expect(missing?.isMissing == true)
        let directory = #expect(throws: HostError.self) { try PrivateFile.read(scratch.path) }
        #expect(directory?.isMissing == false)
    }

    @Test func `a file above the limit is an error and not cut`() throws {
        try PrivateFile.write("12345", to: scratch.file("a"))
        #expect(try PrivateFile.read(scratch.file("a"), limit: 5) == "12345")
        #expect(throws: HostError.self) { try PrivateFile.read(scratch.file("a"), limit: 4) }
    }

    @Test func `a pipe does not block the reader`() throws {
        #expect(mkfifo(scratch.file("pipe"), 0o600) == 0)
        #expect(throws: HostError.self) { try PrivateFile.read(scratch.file("pipe")) }
    }

    @Test(arguments: [(ENOSPC, true), (EDQUOT, true), (EIO, true), (EMFILE, true), (ENOMEM, true), (EACCES, false)])
    func `errors that can clear on their own are distinguished`(code: Int32, isTemporary: Bool) {
        #expect((HostError("cannot write", "x", code: code).reason == "the disk is full") == (code == ENOSPC))
        #expect(HostError("cannot write", "x", code: code).isTemporary == isTemporary)
        #expect(!HostError("cannot read", "x", because: "not UTF-8 text").isTemporary)
    }

    @Test func `a failed write says what and why, and leaves the old file`() throws {
        #expect(throws: HostError.self) { try PrivateFile.write("x", to: scratch.file("missing/file")) }
        #expect(mkdir(scratch.file("taken"), 0o700) == 0)
        let error = #expect(throws: HostError.self) { try PrivateFile.write("x", to: scratch.file("taken")) }
        #expect(error?.description == "cannot replace '\(scratch.path)/taken': is a directory")
        #expect(scratch.names == ["taken"])
    }
}

@Suite struct HostFileTests {
    @Test func `files are replaced together, or none when one cannot be written`() throws {
        let scratch = try ScratchDirectory()
        let files = ["a", "b"].map { HostFile.Content(path: scratch.file($0), text: $0, permissions: 0o644) }
        try HostFile.replace(files)
        #expect(try files.map { try PrivateFile.read($0.path) } == ["a", "b"])
        let other = HostFile.Content(path: scratch.file("a"), text: "new", permissions: 0o644)
        let missing = HostFile.Content(path: scratch.file("missing/b"), text: "new", permissions: 0o644)
        #expect(throws: HostError.self) { try HostFile.replace([other, missing]) }
        #expect(try PrivateFile.read(scratch.file("a")) == "a")
        #expect(scratch.names.sorted() == ["a", "b"])
    }
}

@Suite struct TerminalTextTests {
    @Test(arguments: [
        ("plain ä 👩‍👩‍👧", "plain ä 👩‍👩‍👧"), ("a\r\nb\tc", "a  b c"), ("\u{1B}[31mred\u{1B}[0m", "[31mred[0m"),
        ("\u{9B}31m", "31m"), ("a\u{202E}b\u{2066}c\u{200F}", "abc"), ("a\u{0}\u{7F}b", "ab"),
        ("a\u{2028}b\u{85}c", "a b c"), ("\u{FEFF}a\u{E0041}", "a"),
    ])
    func `nothing in a text moves the cursor, changes colours or reorders`(_ text: String, _ expected: String) {
        #expect(TerminalText.safe(text) == expected)
    }

    @Test(arguments: [
        (#"{"a":"plain ä 👩‍👩‍👧"}"#, #"{"a":"plain ä 👩‍👩‍👧"}"#), ("\u{9B}31m\u{7F}\u{85}", #"\u009b31m\u007f\u0085"#),
        ("a\u{202E}b\u{2066}c\u{2028}", #"a\u202eb\u2066c\u2028"#), ("\u{FEFF}\u{E0041}", #"\ufeff\udb40\udc41"#),
    ])
    func `JSON holds the same text, and nothing that a terminal obeys`(_ text: String, _ expected: String) {
        #expect(TerminalText.escaped(json: text) == expected)
    }
}
