import NocturneInference
import NocturnePostprocess
import NocturneSystem

extension PhotoInstancesModel.Settings {
    /// Reads the section `photoInstances`.
    init(_ section: JSONFields, of package: ModelPackage) throws(JSONFields.Fault) {
        try section.only(["network", "input", "output", "splitting", "thresholds", "classes", "maxInstances"])
        let classes = try section.classes()
        let output = try Output(section, maximum: section.whole("maxInstances", 200, in: 1...1000))
        if case .maps = output, classes.count > 1 {
            throw section.fault("classes", "has \(classes.count) classes, which maps do not distinguish")
        }
        self.init(
            network: try section.file("network", of: package),
            input: try Input(section.object("input")),
            output: output,
            classes: classes
        )
    }
}

extension PhotoInstancesModel.Settings.Input {
    fileprivate init(_ fields: JSONFields) throws(JSONFields.Fault) {
        try fields.only([
            "longSide", "multiple", "square", "placement", "resampling", "minimumSide", "mean", "standardDeviation",
        ])
        let longSide = try fields.whole("longSide", in: 32...4096)
        let multiple = try fields.whole("multiple", 1, in: 1...512)
        let isSquare = try fields.boolean("square", false)
        // Other inputs are filled up to a multiple; a square one has exactly this side.
        if isSquare, longSide % multiple != 0 {
            throw fields.fault("longSide", is: longSide, not: "a multiple of \(multiple), as square inputs require")
        }
        self.init(
            longSide: longSide,
            multiple: multiple,
            isSquare: isSquare,
            minimumSide: try fields.whole("minimumSide", 32, in: 1...8192),
            placement: try fields.choice("placement", .corner),
            resampling: try fields.choice("resampling", .antialiased),
            colors: try fields.colors()
        )
    }
}

extension PhotoInstancesModel.Settings.Output {
    /// The names are those of the network's outputs.
    fileprivate init(_ section: JSONFields, maximum: Int) throws(JSONFields.Fault) {
        let fields = try section.object("output")
        try fields.only([
            "kind", "activation", "boundary", "centre", "candidates", "prototypes", "boxes", "scores", "classes",
            "masks",
            "firstClass",
        ])
        func name(_ key: String) throws(JSONFields.Fault) -> String { try fields.text(key, atMost: 1000) }
        // Both, so that a misspelt key is found whatever the kind is.
        let maps = try PhotoInstancesModel.Settings.Maps(
            fields,
            section.objectOrEmpty("splitting"),
            maximum: maximum
        )
        let rules = try DetectionDecoder.Rules(section.objectOrEmpty("thresholds"), maximum: maximum)
        let kind = try fields.string("kind")
        switch kind {
        case "maps": self = .maps(maps)
        case "masks-boxes":
            self = .prototypes(
                candidates: try name("candidates"),
                prototypes: try name("prototypes"),
                rules: rules
            )
        case "masks":
            self = .masks(
                boxes: try name("boxes"),
                scores: try name("scores"),
                classes: try name("classes"),
                masks: try name("masks"),
                // 1 where 0 is the background.
                firstClass: try fields.whole("firstClass", 1, in: 0...1),
                rules: rules
            )
        default: throw fields.fault("kind", is: kind, not: "one of maps, masks-boxes, masks")
        }
    }
}

extension PhotoInstancesModel.Settings.Maps {
    fileprivate init(_ output: JSONFields, _ splitting: JSONFields, maximum: Int) throws(JSONFields.Fault) {
        try splitting.only([
            "foregroundThreshold", "backgroundThreshold", "seedThreshold", "boundaryWeight", "minimumSeedArea",
            "minimumArea",
            "mergeBoundary", "minimumContact", "minimumAreaShareOfMedian", "minimumClearShare",
        ])
        var rules = InstanceSplitter.Rules(maximumInstances: maximum)
        rules.foregroundThreshold = try splitting.share("foregroundThreshold", rules.foregroundThreshold)
        rules.backgroundThreshold = try splitting.share("backgroundThreshold", rules.backgroundThreshold)
        guard rules.backgroundThreshold <= rules.foregroundThreshold else {
            let most = "at most foregroundThreshold, \(rules.foregroundThreshold)"
            throw splitting.fault("backgroundThreshold", is: rules.backgroundThreshold, not: most)
        }
        rules.seedThreshold = try splitting.share("seedThreshold", rules.seedThreshold)
        rules.boundaryWeight = try splitting.share("boundaryWeight", rules.boundaryWeight, upTo: 100)
        rules.minimumSeedArea = try splitting.pixels("minimumSeedArea", rules.minimumSeedArea)
        rules.minimumArea = try splitting.pixels("minimumArea", rules.minimumArea)
        rules.mergeBoundary = try splitting.share("mergeBoundary", rules.mergeBoundary)
        rules.minimumContact = try splitting.pixels("minimumContact", rules.minimumContact)
        let small = rules.minimumAreaShareOfMedian
        rules.minimumAreaShareOfMedian = try splitting.share("minimumAreaShareOfMedian", small)
        rules.minimumClearShare = try splitting.share("minimumClearShare", rules.minimumClearShare)
        let hasBoundary = try output.boolean("boundary", true)
        // The share is measured along the map of boundaries. Without one no outline would be clear, and every photo refused.
        if !hasBoundary, rules.minimumClearShare > 0 {
            throw splitting.fault(
                "minimumClearShare",
                is: rules.minimumClearShare,
                not: "0, as there are no boundaries"
            )
        }
        self.init(
            activation: try output.choice("activation", .none),
            hasBoundary: hasBoundary,
            hasCentre: try output.boolean("centre", false),
            rules: rules
        )
    }
}

extension DetectionDecoder.Rules {
    fileprivate init(_ fields: JSONFields, maximum: Int) throws(JSONFields.Fault) {
        try fields.only(["score", "boxOverlap", "maskOverlap", "mask", "minimumArea"])
        self.init(maximumInstances: maximum)
        maskThreshold = try fields.share("mask", maskThreshold)
        // Logits are compared with the logit of the threshold, which is infinite for 0 and 1.
        guard maskThreshold > 0, maskThreshold < 1 else {
            throw fields.fault("mask", is: maskThreshold, not: "above 0 and below 1")
        }
        scoreThreshold = try fields.share("score", scoreThreshold)
        boxOverlap = try fields.share("boxOverlap", boxOverlap)
        maskOverlap = try fields.share("maskOverlap", maskOverlap)
        minimumArea = try fields.pixels("minimumArea", minimumArea)
    }
}

extension JSONFields {
    fileprivate func classes() throws(Fault) -> [PhotoInstancesModel.Settings.Class] {
        let entries = try objects("classes", atMost: 1000)
        if entries.isEmpty { throw fault("classes", "is an empty list") }
        var classes: [PhotoInstancesModel.Settings.Class] = []
        var names: Set<String> = []
        for entry in entries {
            try entry.only(["name", "color"])
            classes.append(.init(name: try entry.uniqueName(&names), color: try entry.color()))
        }
        return classes
    }
}
