internal import CDCMTK
internal import CDICOMParser
import NocturneCore
public import NocturneSystem

/// Reads DICOM structure sets (RTSTRUCT).
extension DICOMStructureSet {
    /// Reads regions with their closed planar contours (CLOSED_PLANAR and CLOSEDPLANAR_XOR).
    ///
    /// Points and open contours have no inside: they are noted and omitted, and so are contours with fewer than three
    /// points or with coordinates that do not form complete points. No image is read.
    ///
    /// Safe for hostile files: coordinates are counted while they are read.
    /// - Throws: ``DICOMReadError``.
    /// - Complexity: 24 bytes per point, plus the file's own bytes while it is read.
    public static func read(
        path: String,
        limits: DICOMObjectLimits = DICOMObjectLimits(),
        flag: CancellationFlag = CancellationFlag()
    ) throws -> DICOMStructureSet {
        let file = try DICOMStructureSet.File(path: path, limits: limits)
        let images = try DICOMImageReference.list(file.facts.referenced_images) { index throws(DICOMReadError) in
            try file.image(index)
        }
        var regions: [DICOMStructureSet.Region] = []
        for index in 0..<file.facts.regions {
            var (region, count) = try file.region(index)
            var omitted = OmittedContours()
            for place in 0..<count {
                try flag.check()
                if let contour = try file.contour(place, of: index, &omitted) { region.contours.append(contour) }
            }
            region.notes = omitted.notes(about: region.name)
            if region.contours.isEmpty {
                region.notes.append(Note("structureSet.noContour", "\(region.name): no closed contour"))
            }
            regions.append(region)
        }
        let frame = text(file.facts.frame_of_reference_uid)
        return DICOMStructureSet(
            label: text(file.facts.label),
            frameOfReferenceUID: frame.isEmpty
                ? regions.map(\.frameOfReferenceUID).first { !$0.isEmpty } ?? "" : frame,
            referencedSeriesUID: text(file.facts.referenced_series_uid),
            listedImages: images,
            regions: regions
        )
    }

    /// Counts of contours that were omitted, by reason.
    struct OmittedContours {
        private var counts: [(reason: String, count: Int)] = []

        mutating func add(_ reason: String) {
            if let place = counts.firstIndex(where: { $0.reason == reason }) {
                counts[place].count += 1
            } else if counts.count < 16 {
                counts.append((reason, 1))
            }
        }

        func notes(about name: String) -> [Note] {
            counts.map {
                Note(
                    "structureSet.contoursOmitted",
                    "\(name): \(own: counted($0.count, "contour")) omitted, \(own: $0.reason)"
                )
            }
        }
    }

    /// An open structure set. To be used by one thread at a time.
    struct File: ~Copyable {
        let file: OpaquePointer
        let path: String
        let facts: cdcmtk_structure_facts

        init(path: String, limits: DICOMObjectLimits) throws(DICOMReadError) {
            var opened: OpaquePointer?
            var facts = cdcmtk_structure_facts()
            var error = cdicom_error()
            let (numbers, overflow) = limits.points.multipliedReportingOverflow(by: 3)
            var most = cdcmtk_structure_limits(
                regions: limits.segments,
                contours: limits.contours,
                numbers: overflow ? Int.max : numbers
            )
            let code = cdcmtk_structure_open(path, &most, &opened, &facts, &error)
            guard code == CDICOM_OK, let opened else { throw DICOMReadError(code, error, path: path) }
            file = opened
            self.path = path
            self.facts = facts
        }

        deinit { cdcmtk_structure_close(file) }

        func image(_ index: Int) throws(DICOMReadError) -> cdcmtk_image_reference {
            var image = cdcmtk_image_reference()
            var error = cdicom_error()
            let code = cdcmtk_structure_image(file, index, &image, &error)
            guard code == CDICOM_OK else { throw DICOMReadError(code, error, path: path) }
            return image
        }

        func region(_ index: Int) throws(DICOMReadError) -> (DICOMStructureSet.Region, contours: Int) {
            var facts = cdcmtk_region_facts()
            var error = cdicom_error()
            let code = cdcmtk_structure_region(file, index, &facts, &error)
            guard code == CDICOM_OK else { throw DICOMReadError(code, error, path: path) }
            let color = facts.color
            let region = DICOMStructureSet.Region(
                number: Int(facts.number),
                name: text(facts.name),
                description: text(facts.description),
                color: facts.has_color == 0 ? nil : LabelColor(red: color.0, green: color.1, blue: color.2),
                code: CodedConcept(facts.code),
                interpretedType: text(facts.interpreted_type),
                frameOfReferenceUID: text(facts.frame_of_reference_uid),
                contours: []
            )
            return (region, facts.contours)
        }

        /// Nil for a contour without an inside; the reason is then counted.
        func contour(
            _ index: Int,
            of region: Int,
            _ omitted: inout DICOMStructureSet.OmittedContours
        ) throws(DICOMReadError) -> DICOMStructureSet.Contour? {
            var facts = cdcmtk_contour_facts()
            var error = cdicom_error()
            let code = cdcmtk_structure_contour(file, region, index, &facts, &error)
            guard code == CDICOM_OK else { throw DICOMReadError(code, error, path: path) }
            let type = text(facts.geometric_type)
            guard type == "CLOSED_PLANAR" || type == "CLOSEDPLANAR_XOR" else {
                omitted.add(type.isEmpty ? "of no type" : "of type \(type)")
                return nil
            }
            guard facts.count % 3 == 0 else {
                omitted.add("with incomplete coordinates")
                return nil
            }
            guard facts.count >= 9, let numbers = facts.points else {
                omitted.add("of fewer than three points")
                return nil
            }
            var points: [SIMD3<Double>] = []
            points.reserveCapacity(facts.count / 3)
            for place in stride(from: 0, to: facts.count, by: 3) {
                // LPS to RAS; adding zero converts -0 to 0.
                let point = SIMD3(-numbers[place], -numbers[place + 1], numbers[place + 2]) + SIMD3<Double>.zero
                if points.last != point { points.append(point) }
            }
            if points.count > 1, points.first == points.last { points.removeLast() }
            guard points.count >= 3 else {
                omitted.add("of fewer than three points")
                return nil
            }
            return DICOMStructureSet.Contour(points: points, image: DICOMImageReference(facts.image))
        }
    }
}
