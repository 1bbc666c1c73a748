import HubProtocol
import Testing

/// Languages in the names of properties, and what a rendered template says.
@Suite struct LocalizationTests {
    @Test(arguments: ["French", "pt_BR", "zh2", String(repeating: "a", count: 60)])
    func `a language is what can end a property's name`(text: String) throws {
        let language = try LanguageName(text)
        #expect(language.newsProperty.rawValue == "News_\(text)" && language.titleProperty.rawValue == "Title_\(text)")
        #expect(try language == LanguageName(text.uppercased()))
    }

    @Test(arguments: ["", "a b", "en-GB", "français", "a\n", String(repeating: "a", count: 61)])
    func `anything else is refused`(text: String) {
        let error = #expect(throws: ProtocolError.self) { try LanguageName(text) }
        #expect(error?.detail.contains("must be letters, digits and '_'") == true)
    }

    @Test func `the agent's templates have their members in the order that hubs have stored`() throws {
        let rest =
            #""category":"$(category)","image":"$(image)","secureId":"$(secureId)","urgency":"$(urgency)","#
            + #""story":"$(story)","status":"$(status)","replaces":"$(replaces)","version":"$(version)"}"#
        #expect(AgentTemplate.body == #"{"title":"$(title)","message":"$(messageParam)","link":"$(link)","# + rest)
        #expect(
            try AgentTemplate.body(in: LanguageName("French"))
                == #"{"title":"$(Title_French)","message":"$(News_French)","link":"$(link)","#
                + #""localizedLink":"$(Link_French)","# + rest
        )
    }

    @Test func `the browser's templates have their members in the order that hubs have stored`() throws {
        func body(_ title: String, _ text: String, _ further: String) -> String {
            #"{"web_push":8030,"notification":{"title":"$(\#(title), 200)","body":"$(\#(text), 500)","tag":"$(story)","#
                + #""navigate":"$(link)"},"secureId":"$(secureId)","status":"$(status)"\#(further)}"#
        }
        #expect(BrowserTemplate.body == body("title", "messageParam", ""))
        #expect(
            try BrowserTemplate.body(in: LanguageName("French"))
                == body("Title_French", "News_French", #","localizedLink":"$(Link_French)""#)
        )
    }

    @Test func `the agent's template in a language shows nothing of another`() throws {
        let template = try Template(parsing: AgentTemplate.body(in: LanguageName("French")))
        let message: [MessageProperty: String] = [
            "title": "Mayor resigns", "messageParam": "Breaking", "link": "https://a.example/en", "category": "World",
        ]
        let english = try #require(template.render(MessageProperties(message)))
        #expect(!english.contains("Mayor") && !english.contains("Breaking"))
        #expect(RenderedText.isEmpty(english, of: template.body))
        let both = message.merging(["News_french": "Flash", "Link_French": "https://a.example/fr"]) { $1 }
        let french = try #require(template.render(MessageProperties(both)))
        #expect(french.contains(#""message":"Flash""#) && french.contains(#""localizedLink":"https://a.example/fr""#))
        #expect(!RenderedText.isEmpty(french, of: template.body))
    }

    private static let flash = #"{"message":"{'Flash : ' + $(News_French)}","desk":"World desk"}"#

    private static let texts: [(body: String, template: String?, isEmpty: Bool)] = [
        (#"{"title":"","message":""}"#, nil, true),
        (#"{"title":"","link":"https://a.example/","category":"World"}"#, nil, true),
        (#"{"title":"","image":"i","urgency":"low","story":"s","localizedLink":"l","status":"update"}"#, nil, true),
        (#"{"title":"","message":"x"}"#, nil, false),
        (#"{"title":"","message":"","secureId":"7"}"#, nil, false),
        (#"{"data":{"texts":["",""],"badge":3}}"#, nil, true),
        (#"{"data":{"texts":["","x"]}}"#, nil, false),
        ("{}", nil, true),
        ("no json", nil, false),
        (#"{"message":"Flash : ","desk":"World desk"}"#, flash, true),
        (#"{"message":"Flash : x","desk":"World desk"}"#, flash, false),
        (#"{"message":"","desk":"Flash"}"#, #"{"message":"Flash","desk":"$(desk)"}"#, false),
        (#"{"message":"Flash"}"#, "no template", false),
    ]

    @Test(arguments: texts)
    func `text is what a message put into the template`(body: String, template: String?, isEmpty: Bool) {
        #expect(RenderedText.isEmpty(body, of: template) == isEmpty)
    }

    private static let messages: [(properties: [MessageProperty: String], isBlank: Bool, isBlankInFrench: Bool)] = [
        (["title": "Flood"], false, true),
        (["messageParam": "Flood"], false, true),
        (["News_French": "Inondation"], true, false),
        (["Title_french": "Inondation"], true, false),
        (["title": "Flood", "News_French": "Inondation"], false, false),
        (["secureId": "7"], false, false),
        (["link": "https://a.example/", "story": "s", "status": "withdrawn"], true, true),
        ([:], true, true),
    ]

    @Test(arguments: messages)
    func `a browser has nothing to show of a message without a text for it`(
        properties: [MessageProperty: String],
        isBlank: Bool,
        isBlankInFrench: Bool
    ) throws {
        let message = MessageProperties(properties)
        let standard = try #require(try Template(parsing: BrowserTemplate.body).render(message))
        let french = try #require(
            try Template(parsing: BrowserTemplate.body(in: LanguageName("French"))).render(message)
        )
        #expect(BrowserTemplate.isBlank(Array(standard.utf8)) == isBlank)
        #expect(BrowserTemplate.isBlank(Array(french.utf8)) == isBlankInFrench)
    }

    @Test(arguments: ["{}", "", "no json", #"{"title":""}"#, #"{"notification":{"title":""}}"#, #"{"web_push":8030}"#])
    func `a message of an app's own form is not blank`(body: String) {
        #expect(!BrowserTemplate.isBlank(Array(body.utf8)))
    }
}
