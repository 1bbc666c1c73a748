import HubProtocol
import Testing

@testable import WebPages

struct PublicAudienceTests {
    @Test(
        arguments: [
            ("World", true), ("world", true), ("World || Sports", true), ("!Sports", true), ("World && !Sports", true),
            ("(Sports || World) && !Weather", true), (nil, true),
            ("Sports", false), ("World && Sports", false), ("!World", false), ("World && vip", false),
            ("World || username:bob", false), ("!username:bob", false), ("World && !FROM:alice", false),
            ("World || $UserId:{u7}", false), ("World && !$InstallationId:{a}", false), ("World &", false),
            ("World || UserName:bob", false),
        ] as [(String?, Bool)]
    )
    func `a message is among the news of a tag if a device with that tag alone would get it, and nobody is named`(
        tags: String?,
        isIncluded: Bool
    ) throws {
        #expect(try PublicAudience.includes(Tag("World"), tags: tags, reserved: .standard) == isIncluded)
    }

    @Test(arguments: ["username:bob", "$UserId:{u7}", "FROM:x"])
    func `a tag that says who has it has no news`(tag: String) throws {
        #expect(try !PublicAudience.includes(Tag(tag), tags: tag, reserved: .standard))
        #expect(try !PublicAudience.includes(Tag(tag), tags: nil, reserved: .standard))
    }

    @Test func `the operator's reserved tags count`() throws {
        let reserved = try ReservedTagPrefixes(["staff"])
        #expect(try !PublicAudience.includes(Tag("World"), tags: "World || staff-only", reserved: reserved))
        #expect(try PublicAudience.includes(Tag("World"), tags: "World || username:bob", reserved: reserved))
    }
}
