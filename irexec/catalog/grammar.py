"""The part of the RELAX NG schema that no operator adds to: net, layers, ports, edges, bodies, rt_info, text forms.

Source: OpenVINO IR, version 10 and 11.
"""

from __future__ import annotations

# Text forms, as the strict reader takes them: name → what it is, pattern. Blanks around a value are free (xsd:token).
INTEGER = "-?[0-9]{1,19}"
NATURAL = "[0-9]{1,19}"
POSITIVE = "0*[1-9][0-9]{0,18}"
EXPONENT = "([eE][\\-+]?[0-9]+)?"
UNSIGNED_NUMBER = f"([0-9]+\\.?[0-9]*|\\.[0-9]+){EXPONENT}"
POSITIVE_NUMBER = f"([0-9]*[1-9][0-9]*(\\.[0-9]*)?|[0-9]*\\.[0-9]*[1-9][0-9]*){EXPONENT}|inf"
DIMENSION = "(-1|\\?|[0-9]{1,19}|[0-9]{0,19}\\.\\.[0-9]{0,19})"


def list_of(item: str) -> str:
    """The pattern of any number of items between commas."""
    return f"(({item})( ?, ?({item}))*)?"


PATTERNS: dict[str, tuple[str, str]] = {
    "uint": ("an id or an offset", NATURAL),
    "integer": ("an integer", INTEGER),
    "natural": ("an integer of at least 0", NATURAL),
    "positive": ("an integer of at least 1", POSITIVE),
    "number": ("a floating-point number", f"-?({UNSIGNED_NUMBER}|inf|nan)"),
    "number-from-0": ("a floating-point number of at least 0", f"{UNSIGNED_NUMBER}|inf"),
    "number-above-0": ("a floating-point number greater than 0", POSITIVE_NUMBER),
    "integers": ("integers between commas", list_of(INTEGER)),
    "naturals": ("integers of at least 0 between commas", list_of(NATURAL)),
    "positives": ("integers of at least 1 between commas", list_of(POSITIVE)),
    "numbers": ("floating-point numbers between commas", list_of(f"-?({UNSIGNED_NUMBER}|inf|nan)")),
    "numbers-above-0": ("floating-point numbers greater than 0 between commas", list_of(POSITIVE_NUMBER)),
    "partial-shape": ("a partial shape, such as 1,3,?,1..10", f"\\.\\.\\.|\\[?{list_of(DIMENSION)}\\]?"),
    "dimension": ("an extent, or -1 for any", "-1|[0-9]{1,19}"),
}

GRAMMAR = """\
  <start>
    <ref name="net"/>
  </start>

  <define name="net">
    <element name="net">
      <optional><attribute name="name"/></optional>
      <attribute name="version">
        <choice><value>10</value><value>11</value></choice>
      </attribute>
      <interleave>
        <ref name="layers"/>
        <ref name="edges"/>
        <optional><ref name="model-info"/></optional>
        <optional><element name="meta_data"><zeroOrMore><ref name="anything"/></zeroOrMore></element></optional>
        <optional>
          <element name="quantization_parameters"><zeroOrMore><ref name="anything"/></zeroOrMore></element>
        </optional>
        <optional><ref name="pre-process"/></optional>
      </interleave>
    </element>
  </define>

  <define name="layers">
    <element name="layers"><zeroOrMore><ref name="layer"/></zeroOrMore></element>
  </define>

  <define name="layer">
    <element name="layer">
      <attribute name="id"><ref name="uint"/></attribute>
      <attribute name="name"/>
      <interleave>
        <ref name="operator"/>
        <optional><ref name="input"/></optional>
        <optional><ref name="output"/></optional>
        <optional><ref name="item-info"/></optional>
      </interleave>
    </element>
  </define>

  <!-- Ports and edges -->

  <define name="input">
    <element name="input">
      <oneOrMore>
        <element name="port">
          <attribute name="id"><ref name="uint"/></attribute>
          <optional><attribute name="precision"><ref name="precision"/></attribute></optional>
          <optional><attribute name="names"/></optional>
          <ref name="port-content"/>
        </element>
      </oneOrMore>
    </element>
  </define>

  <define name="output">
    <element name="output">
      <oneOrMore>
        <element name="port">
          <attribute name="id"><ref name="uint"/></attribute>
          <attribute name="precision"><ref name="precision"/></attribute>
          <optional><attribute name="names"/></optional>
          <ref name="port-content"/>
        </element>
      </oneOrMore>
    </element>
  </define>

  <define name="port-content">
    <zeroOrMore><element name="dim"><ref name="dimension"/></element></zeroOrMore>
    <optional><ref name="item-info"/></optional>
  </define>

  <define name="edges">
    <element name="edges">
      <zeroOrMore>
        <element name="edge">
          <attribute name="from-layer"><ref name="uint"/></attribute>
          <attribute name="from-port"><ref name="uint"/></attribute>
          <attribute name="to-layer"><ref name="uint"/></attribute>
          <attribute name="to-port"><ref name="uint"/></attribute>
        </element>
      </zeroOrMore>
    </element>
  </define>

  <!-- Bodies of If, Loop and TensorIterator -->

  <define name="one-body">
    <interleave>
      <element name="port_map"><ref name="port-map"/></element>
      <optional><ref name="back-edges"/></optional>
      <element name="body"><ref name="body"/></element>
    </interleave>
  </define>

  <define name="two-bodies">
    <interleave>
      <element name="then_port_map"><ref name="port-map"/></element>
      <element name="else_port_map"><ref name="port-map"/></element>
      <element name="then_body"><ref name="body"/></element>
      <element name="else_body"><ref name="body"/></element>
    </interleave>
  </define>

  <define name="body">
    <interleave>
      <ref name="layers"/>
      <ref name="edges"/>
      <optional><ref name="model-info"/></optional>
    </interleave>
  </define>

  <define name="port-map">
    <zeroOrMore>
      <choice>
        <element name="input">
          <ref name="port-map-entry"/>
          <optional><attribute name="purpose"><value>current_iteration</value></attribute></optional>
        </element>
        <element name="output">
          <ref name="port-map-entry"/>
          <optional><attribute name="purpose"><value>execution_condition</value></attribute></optional>
        </element>
      </choice>
    </zeroOrMore>
  </define>

  <define name="port-map-entry">
    <attribute name="external_port_id"><ref name="integer"/></attribute>
    <attribute name="internal_layer_id"><ref name="uint"/></attribute>
    <optional><attribute name="internal_port_id"><ref name="uint"/></attribute></optional>
    <optional>
      <attribute name="axis"><ref name="integer"/></attribute>
      <optional><attribute name="start"><ref name="integer"/></attribute></optional>
      <optional><attribute name="end"><ref name="integer"/></attribute></optional>
      <optional><attribute name="stride"><ref name="integer"/></attribute></optional>
      <optional><attribute name="part_size"><ref name="positive"/></attribute></optional>
    </optional>
  </define>

  <define name="back-edges">
    <element name="back_edges">
      <zeroOrMore>
        <element name="edge">
          <attribute name="from-layer"><ref name="uint"/></attribute>
          <attribute name="to-layer"><ref name="uint"/></attribute>
          <optional><attribute name="from-port"><ref name="uint"/></attribute></optional>
          <optional><attribute name="to-port"><ref name="uint"/></attribute></optional>
        </element>
      </zeroOrMore>
    </element>
  </define>

  <!-- What is said besides the graph -->

  <define name="model-info">
    <element name="rt_info"><zeroOrMore><ref name="entry"/></zeroOrMore></element>
  </define>

  <define name="entry">
    <element>
      <anyName/>
      <optional><attribute name="name"/></optional>
      <choice>
        <attribute name="value"/>
        <zeroOrMore><ref name="entry"/></zeroOrMore>
      </choice>
    </element>
  </define>

  <define name="item-info">
    <element name="rt_info">
      <zeroOrMore>
        <choice>
          <element name="attribute">
            <attribute name="name"/>
            <attribute name="version"/>
            <zeroOrMore>
              <attribute><anyName><except><name>name</name><name>version</name></except></anyName></attribute>
            </zeroOrMore>
          </element>
          <ref name="user-data"/>
        </choice>
      </zeroOrMore>
    </element>
  </define>

  <define name="user-data">
    <element name="user_data">
      <attribute name="name"/>
      <optional><attribute name="version"><value/></attribute></optional>
      <choice>
        <attribute name="value"/>
        <zeroOrMore><ref name="user-data"/></zeroOrMore>
      </choice>
    </element>
  </define>

  <define name="pre-process">
    <element name="pre-process">
      <optional><attribute name="mean-precision"/></optional>
      <optional><attribute name="reference-layer-name"/></optional>
      <zeroOrMore>
        <element name="channel">
          <optional><attribute name="id"><ref name="uint"/></attribute></optional>
          <element name="mean">
            <choice>
              <attribute name="value"><ref name="number"/></attribute>
              <group>
                <attribute name="offset"><ref name="uint"/></attribute>
                <attribute name="size"><ref name="uint"/></attribute>
              </group>
            </choice>
          </element>
        </element>
      </zeroOrMore>
    </element>
  </define>

  <define name="anything">
    <element>
      <anyName/>
      <zeroOrMore><attribute><anyName/></attribute></zeroOrMore>
      <zeroOrMore><choice><text/><ref name="anything"/></choice></zeroOrMore>
    </element>
  </define>
"""
