import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneSystem

extension PhotoClassificationModel.Settings {
    /// Reads the section `photoClassification`.
    init(_ section: JSONFields, of package: ModelPackage) throws(JSONFields.Fault) {
        try section.only([
            "inputSize", "resize", "minimumSide", "mean", "standardDeviation", "colorConstancyPower", "medical",
            "output", "classes", "risk", "lowConfidence", "minimumLead", "metadata", "networks",
        ])
        // The power of ``ShadesOfGray``, the usual one for dermoscopy; null for colours as they are.
        let usesColorConstancy = section.has("colorConstancyPower")
        if usesColorConstancy, try section.value("colorConstancyPower") != .number(6) {
            throw section.fault("colorConstancyPower", "is not 6 or null")
        }
        let classes = try section.classes()
        let networks = try section.object("networks")
        try networks.only(["classifier", "attention"])
        let inputSize = try section.whole("inputSize", in: 16...2048)
        self.init(
            inputSize: inputSize,
            fitting: try section.fitting(inputSize: inputSize),
            minimumSide: try section.whole("minimumSide", 1, in: 1...8192),
            colors: try section.colors(),
            usesColorConstancy: usesColorConstancy,
            isMedical: try section.boolean("medical", true),
            output: try section.choice("output", .logits),
            classes: classes,
            risk: section.has("risk") ? try Risk(section.object("risk"), classes: classes) : nil,
            lowConfidence: try section.number("lowConfidence", 0.2, in: 0...1),
            minimumLead: try section.number("minimumLead", 0.05, in: 0...1),
            metadata: section.has("metadata") ? try section.object("metadata").sites() : nil,
            classifier: try networks.file("classifier", of: package),
            attention: networks.has("attention") ? try networks.file("attention", of: package) : nil
        )
    }
}

extension PhotoClassificationModel.Settings.Risk {
    fileprivate init(
        _ fields: JSONFields,
        classes: [PhotoClassificationModel.Settings.Class]
    ) throws(JSONFields.Fault) {
        try fields.only(["highClasses", "highThreshold", "moderateThreshold"])
        let high = try fields.strings("highClasses")
        // A misspelt class would never raise the risk, which nobody would notice.
        let known = Set(classes.map(\.name))
        for (index, name) in high.enumerated() where !known.contains(name) {
            throw fields.fault("highClasses[\(index)]", is: name, not: "the name of a class")
        }
        self.init(
            highClasses: high,
            highThreshold: try fields.number("highThreshold", in: 0...1),
            moderateThreshold: try fields.number("moderateThreshold", in: 0...1)
        )
    }
}

extension JSONFields {
    /// `stretch`, or the pixels of the shorter side before the square is cut out.
    fileprivate func fitting(inputSize: Int) throws(Fault) -> PhotoClassificationModel.Settings.Fitting {
        guard has("resize") else { return .square }
        if try value("resize") == .string("stretch") { return .stretch }
        return .crop(shorterSide: try whole("resize", in: inputSize...8192))
    }

    fileprivate func classes() throws(Fault) -> [PhotoClassificationModel.Settings.Class] {
        let entries = try objects("classes", atMost: 10_000)
        guard entries.count >= 2 else { throw fault("classes", "has fewer than 2 classes") }
        var classes: [PhotoClassificationModel.Settings.Class] = []
        var names: Set<String> = []
        for entry in entries {
            try entry.only(["name", "title", "malignant", "color"])
            let name = try entry.uniqueName(&names, ignoresCase: false)
            let title = entry.has("title") ? try entry.string("title") : name
            guard (1...80).contains(title.count) else {
                throw entry.fault("title", is: title, not: "1 to 80 characters")
            }
            classes.append(
                PhotoClassificationModel.Settings.Class(
                    name: name,
                    title: title,
                    isMalignant: try entry.boolean("malignant", false),
                    color: try entry.color()
                )
            )
        }
        return classes
    }

    /// The sites that the network knows, in the order of its input.
    fileprivate func sites() throws(Fault) -> BodySites {
        try only(["sites"])
        let sites = try strings("sites", atMost: 10_000)
        guard Set(sites).count == sites.count else { throw fault("sites", is: sites, not: "every site once") }
        // The site of a person whose metadata do not state one that the model knows.
        guard sites.contains(BodySites.unknown) else {
            throw fault("sites", "has no \"\(BodySites.unknown)\"")
        }
        return BodySites(sites)
    }
}
