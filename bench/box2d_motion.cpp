// Runs the motions of bench/impacts.cpp in Box2D. Box2D gives shapes a skin: b2_polygonRadius around an edge, the
// radius of a circle. Therefore the floor is lower by both skins. The point that touches at height 0 is the centre of a
// small circle: the ball, or the tip of the bar.
#include <box2d/box2d.h>

#include <cmath>
#include <ctime>

struct Result {
  double position, seconds;
};
Result box2d(bool bar, double h, double end);

Result box2d(bool bar, double h, double end) {
  b2World world(b2Vec2(0.0F, bar ? -9.8F : -10.0F));
  world.SetAllowSleeping(false);
  const float radius = 0.05F, tilt = 0.6F, spin = 1.3F, half = 0.5F;

  b2BodyDef ground;
  b2EdgeShape line;
  const float floor = -radius - b2_polygonRadius;
  line.SetTwoSided(b2Vec2(-1e3F, floor), b2Vec2(1e3F, floor));
  b2Fixture* below = world.CreateBody(&ground)->CreateFixture(&line, 0.0F);
  below->SetFriction(0.0F);

  b2BodyDef one;
  one.type = b2_dynamicBody;
  one.bullet = true;
  one.position.Set(0.0F, bar ? 0.8F + half * std::cos(tilt) : 1.25F);
  if (bar) {
    one.angle = tilt;
    one.angularVelocity = spin;
    one.linearVelocity.Set(0.0F, -half * std::sin(tilt) * spin);
  }
  b2Body* body = world.CreateBody(&one);
  b2CircleShape circle;
  circle.m_radius = radius;
  circle.m_p.Set(0.0F, bar ? -half : 0.0F);
  b2FixtureDef fixture;
  fixture.shape = &circle;
  fixture.density = 1.0F;
  fixture.friction = 0.0F;
  fixture.restitution = bar ? 1.0F : 0.8F;
  fixture.restitutionThreshold = 0.0F;
  body->CreateFixture(&fixture);
  b2MassData mass;
  mass.mass = 1.0F;
  mass.center.Set(0.0F, 0.0F);
  mass.I = 1.0F / 12.0F;
  body->SetMassData(&mass);

  const std::clock_t before = std::clock();
  const long steps = std::lround(end / h);
  for (long k = 0; k < steps; ++k) world.Step(static_cast<float>(h), 8, 3);
  return {body->GetPosition().y, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC};
}
