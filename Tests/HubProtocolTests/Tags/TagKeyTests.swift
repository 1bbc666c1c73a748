import Testing

@testable import HubProtocol

struct TagKeyTests {
    @Test(arguments: ["World", "world,SPORTS", "Straße,ſport,$InstallationId:{A-b=1},x:y", "", ",", "a,,B,"])
    func `joined tags have the keys of each of them`(joined: String) throws {
        var keys: [TagKey] = []
        Tag.forEachKey(in: joined) { keys.append($0) }
        #expect(try keys == joined.split(separator: ",").map { try Tag(String($0)).key })
    }

    @Test func `tags have one key exactly when they are equal`() throws {
        let tags = try ["World", "WORLD", "worl", "ſport", "Sport", "Å", "A\u{30A}", "å", "İ", "i"].map { try Tag($0) }
        for left in tags {
            for right in tags { #expect((left == right) == (left.key == right.key), "\(left) \(right)") }
        }
    }
}
