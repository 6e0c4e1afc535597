import NocturneInference
import NocturnePostprocess
import NocturneSystem

extension PostprocessRules {
    /// Reads the object `postprocessing` of a section. Labels are named; volumes are in mm³.
    init(_ fields: JSONFields, labels: [ModelLabel]) throws(JSONFields.Fault) {
        try fields.only(["keepLargest", "fillHoles", "minimumVolumeMm3", "connectivity", "morphology"])
        let volumes = try fields.objectOrEmpty("minimumVolumeMm3")
        let limited = try fields.values(of: volumes.keys, among: labels, "minimumVolumeMm3")
        var minimum: [UInt16: Double] = [:]
        for (name, value) in zip(volumes.keys, limited) {
            minimum[value] = try volumes.number(name, in: 0...Double.greatestFiniteMagnitude)
        }
        // Through faces, edges and corners (26), unless stated.
        let neighbours = try fields.whole("connectivity", Connectivity.corners.rawValue, in: 6...26)
        guard let connectivity = Connectivity(rawValue: neighbours) else {
            throw fields.fault("connectivity", is: neighbours, not: "6, 18 or 26")
        }
        self.init(
            keepLargest: try fields.groups(among: labels),
            fillHoles: fields.has("fillHoles")
                ? try fields.values(of: fields.strings("fillHoles"), among: labels, "fillHoles") : [],
            minimumVolumeMm3: minimum,
            connectivity: connectivity,
            morphology: try fields.morphology(among: labels)
        )
    }
}

extension JSONFields {
    /// The groups of `keepLargest`: one label each, or several treated as one.
    fileprivate func groups(among labels: [ModelLabel]) throws(Fault) -> [[UInt16]] {
        guard has("keepLargest") else { return [] }
        var groups: [[UInt16]] = []
        for (index, entry) in try list("keepLargest", atMost: Self.maximumListCount).enumerated() {
            let key = "keepLargest[\(index)]"
            let names = try stringOrStrings(entry, key)
            if names.isEmpty { throw fault(key, "is an empty list") }
            let own = try values(of: names, among: labels, key)
            // A group that is kept twice changes nothing: most likely a name in one of them is wrong.
            if groups.contains(own) {
                throw fault(key, "is \(names.joined(separator: ", ")), which another entry is too")
            }
            groups.append(own)
        }
        return groups
    }

    /// The values of labels by their names, in the same order; each name once.
    func values(of names: [String], among labels: [ModelLabel], _ key: String) throws(Fault) -> [UInt16] {
        let known = Dictionary(uniqueKeysWithValues: labels.map { ($0.name, $0.value) })
        var values: [UInt16] = []
        for name in names {
            guard let value = known[name] else {
                let known = labels.prefix(20).map(\.name).joined(separator: ", ")
                throw fault(key, "names \"\(name.prefix(80))\", which is not one of the labels (\(known))")
            }
            if values.contains(value) { throw fault(key, "names \"\(name)\" twice") }
            values.append(value)
        }
        return values
    }

    fileprivate func morphology(among labels: [ModelLabel]) throws(Fault) -> [MorphologyStep] {
        guard has("morphology") else { return [] }
        var steps: [MorphologyStep] = []
        for step in try objects("morphology", atMost: Self.maximumListCount) {
            try step.only(["operation", "labels", "radiusMm", "sigmaMm"])
            let operation: MorphologyStep.Operation = try step.choice("operation")
            let names = try step.strings("labels")
            if names.isEmpty { throw step.fault("labels", "is an empty list") }
            let own = try step.values(of: names, among: labels, "labels")
            // A smoothing has the sigma of a Gaussian, all other operations the radius of a ball.
            let (size, other) = operation == .smooth ? ("sigmaMm", "radiusMm") : ("radiusMm", "sigmaMm")
            if step.has(other) { throw step.fault(other, "is given, but \(operation.rawValue) has \(size)") }
            // No operation is larger: a size in mm above this is a mistake in the unit.
            let millimetres = try step.number(size, in: 0...100)
            guard millimetres > 0 else { throw step.fault(size, is: millimetres, not: "above 0") }
            steps.append(MorphologyStep(operation, labels: own, millimetres: millimetres))
        }
        return steps
    }
}
